/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/orders.h"

void sti__gpu_set_orders(sti__gpu_orders *orders) { (void)orders; }
