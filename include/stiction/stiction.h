/* SPDX-License-Identifier: Apache-2.0 */
/* Stiction: physics of robots and soft things that touch each other. */
#ifndef STICTION_H
#define STICTION_H

#include <stiction/base.h>
#include <stiction/batch.h>
#include <stiction/capsule.h>
#include <stiction/control.h>
#include <stiction/coupled.h>
#include <stiction/handler.h>
#include <stiction/ik.h>
#include <stiction/model.h>
#include <stiction/picture.h>
#include <stiction/problem.h>
#include <stiction/query.h>
#include <stiction/record.h>
#include <stiction/sleep.h>
#include <stiction/spec.h>
#include <stiction/tetmesh.h>
#include <stiction/world.h>

#endif
