/* SPDX-License-Identifier: Apache-2.0 */
/* stiction picture: a scene as a PNG file. */
#include "cli.h"

static int draw(sti_world *world, const char *output, sti_picture_options *options, double time) {
    double h = sti_world_option(world)->timestep;
    if (sti_step(world, (int)(time / h + 0.5)) != STI_OK || sti_forward(world) != STI_OK)
        return report_error(sti_world_error(world));
    int status = write_picture(world, output, options);
    if (status == EXIT_OK) printf("%s\n", output);
    return status;
}

int command_picture(int argc, char **argv) {
    const char *output = "picture.png", *key = NULL, *camera = NULL, *size = "640x480";
    double time = 0, azimuth = 1e9, elevation = 1e9, distance = 0;
    bool sites = false, outside = false;
    const arg args[] = {
        {"-o", "FILE", "the PNG file to write (picture.png)", ARG_TEXT, &output},
        {"--output", "FILE", "the same", ARG_TEXT, &output},
        {"--key", "NAME", "start from this keyframe (name or number)", ARG_TEXT, &key},
        {"--time", "S", "simulate for S seconds first", ARG_REAL, &time},
        {"--size", "WxH", "pixels (640x480)", ARG_TEXT, &size},
        {"--camera", "NAME", "look through this camera of the model", ARG_TEXT, &camera},
        {"--azimuth", "DEG", "of the free camera", ARG_REAL, &azimuth},
        {"--elevation", "DEG", "of the free camera", ARG_REAL, &elevation},
        {"--distance", "M", "of the free camera from the model's centre", ARG_REAL, &distance},
        {"--sites", NULL, "draw sites and tendons too", ARG_FLAG, &sites},
        ARG_OUTSIDE(&outside),
    };
    const usage u = {"picture",
                     "FILE",
                     "Draws a scene into a PNG file, without a display.",
                     "  stiction picture robot.xml -o robot.png --key home --size 1280x960\n",
                     args,
                     sizeof args / sizeof args[0]};
    operands files;
    int status, width, height;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    if (!parse_size(size, &width, &height))
        return usage_error(&u, "--size is like 640x480, at most 8192x8192");
    if (time < 0) return usage_error(&u, "--time must not be negative");
    sti_model *model = load_model(files.item[0], outside, true);
    sti_world *world = model ? make_world(model, key, false) : NULL;
    status = EXIT_FAILED;
    if (world) {
        sti_picture_options options = sti_picture_options_default(model);
        options.width = width;
        options.height = height;
        options.sites = sites;
        if (azimuth < 1e9) options.azimuth = azimuth;
        if (elevation < 1e9) options.elevation = elevation;
        if (distance > 0) options.distance = distance;
        if (camera) options.camera = sti_model_id(model, STI_OBJ_CAMERA, camera);
        if (camera && options.camera < 0)
            fprintf(stderr, "stiction picture: there is no camera \"%s\"\n", camera);
        else status = draw(world, output, &options, time);
    }
    sti_world_destroy(world);
    sti_model_free(model);
    return status;
}
