// Allocation and fragmentation against arrived demand, one line per policy: an SVG, or a page of
// its own with the SVG inside and the table below. No script, no font and no file from elsewhere;
// dark and light follow the reader's setting.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment.h"
#include "sim/report.h"

namespace tessera {

// A panel of lines over x = 0, 1, 2, ...
struct PlotPanel {
    std::string title;
    std::string y_label;
    double x_low = 0;
    double x_high = 1;
    double y_low = 0;
    double y_high = 1;
    std::vector<std::vector<double>> lines;  // by policy, in the order of the legend
};

// Round values within [low, high], about five of them.
std::vector<double> axis_ticks(double low, double high);

std::string render_svg(const std::vector<PolicyResult>& results, const ReportContext& context);
// For protocols without curves the page has the table alone.
std::string render_html(const std::vector<PolicyResult>& results, const ReportContext& context);

// Text with the characters that HTML and SVG give a meaning escaped.
std::string markup_text(std::string_view text);

}  // namespace tessera
