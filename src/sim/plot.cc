#include "sim/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {

namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 64;
constexpr double kRight = 24;
constexpr double kPanelHeight = 260;
constexpr double kPanelGap = 78;
constexpr double kLegendLine = 24;
constexpr double kTop = 44;
constexpr std::size_t kColours = 8;

// Colour alone must not tell the lines apart: dashes differ too.
constexpr std::array<std::string_view, 4> kDashes{"", "9 4", "3 3", "12 4 3 4"};

// Plain values first, which any renderer understands; those for dark screens replace them.
constexpr std::string_view kStyle = R"(<style>
.plot{background:#ffffff;font-family:system-ui,-apple-system,"Segoe UI",sans-serif}
.plot text{fill:#5d6b7a;font-size:13px}.plot .title{fill:#1c2733;font-size:15px;font-weight:600}
.plot .legend{fill:#1c2733;font-size:13px}.plot .grid{stroke:#e3e8ee;stroke-width:1}
.plot .axis{stroke:#5d6b7a;stroke-width:1}.plot .line{fill:none;stroke-width:2;stroke-linejoin:round}
.plot .c0{stroke:#0b6bcb}.plot .c1{stroke:#c2410c}.plot .c2{stroke:#15803d}.plot .c3{stroke:#9333ea}
.plot .c4{stroke:#a16207}.plot .c5{stroke:#0e7490}.plot .c6{stroke:#be185d}.plot .c7{stroke:#4d5b6a}
@media(prefers-color-scheme:dark){.plot{background:#12181f}.plot text{fill:#9fb0c0}
.plot .title,.plot .legend{fill:#e7edf3}.plot .grid{stroke:#2b3743}.plot .axis{stroke:#9fb0c0}
.plot .c0{stroke:#58a6ff}.plot .c1{stroke:#ff9e64}.plot .c2{stroke:#56d364}.plot .c3{stroke:#c49bff}
.plot .c4{stroke:#e3b341}.plot .c5{stroke:#4fd1e0}.plot .c6{stroke:#ff85b8}.plot .c7{stroke:#b5c2cf}}
</style>
)";

// The attributes of a policy's line.
std::string line_style(std::size_t policy) {
    const std::string_view dash = kDashes[(policy / kColours + policy) % kDashes.size()];
    const std::string colour = fmt::format("class=\"line c{}\"", policy % kColours);
    return dash.empty() ? colour : fmt::format("{} stroke-dasharray=\"{}\"", colour, dash);
}

// Draws one panel with its upper left corner at (0, top).
class PanelDrawing {
  public:
    PanelDrawing(const PlotPanel& panel, double top) : panel_(panel), top_(top + 22) {}

    std::string draw() {
        out_ += fmt::format("<text class=\"title\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kLeft,
                            top_ - 12, markup_text(panel_.title));
        draw_grid();
        for (std::size_t i = 0; i < panel_.lines.size(); ++i) {
            draw_line(i);
        }
        return std::move(out_);
    }

  private:
    double x(double value) const {
        const double part = (value - panel_.x_low) / (panel_.x_high - panel_.x_low);
        return kLeft + part * (kWidth - kLeft - kRight);
    }
    double y(double value) const {
        const double part = (value - panel_.y_low) / (panel_.y_high - panel_.y_low);
        return top_ + kPanelHeight * (1 - part);
    }

    void draw_grid() {
        for (const double tick : axis_ticks(panel_.y_low, panel_.y_high)) {
            out_ += fmt::format(
                "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
                kLeft, kWidth - kRight, y(tick), kLeft - 8, y(tick) + 4, tick);
        }
        const double bottom = top_ + kPanelHeight;
        for (const double tick : axis_ticks(panel_.x_low, panel_.x_high)) {
            out_ += fmt::format(
                "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
                "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:g}</text>\n",
                x(tick), bottom, bottom + 5, bottom + 20, tick);
        }
        out_ += fmt::format(
            "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kLeft,
            kWidth - kRight, bottom);
        out_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">arrived GPU demand, % of "
            "capacity</text>\n",
            (kLeft + kWidth - kRight) / 2, bottom + 38);
        out_ += fmt::format(
            "<text transform=\"translate(16 {:.1f}) rotate(-90)\" "
            "text-anchor=\"middle\">{}</text>\n",
            top_ + kPanelHeight / 2, markup_text(panel_.y_label));
    }

    void draw_line(std::size_t policy) {
        const std::vector<double>& values = panel_.lines[policy];
        std::string points;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto at = static_cast<double>(i);
            if (at >= panel_.x_low && at <= panel_.x_high) {
                const double shown = std::clamp(values[i], panel_.y_low, panel_.y_high);
                points += fmt::format("{:.1f},{:.1f} ", x(at), y(shown));
            }
        }
        out_ += fmt::format("<polyline {} points=\"{}\"/>\n", line_style(policy), points);
    }

    const PlotPanel& panel_;
    double top_;
    std::string out_;
};

double largest(const std::vector<std::vector<double>>& lines) {
    double most = 0;
    for (const auto& line : lines) {
        for (const double value : line) {
            most = std::max(most, value);
        }
    }
    return most;
}

// Smallest value from x = `from` on.
double smallest_from(const std::vector<std::vector<double>>& lines, std::size_t from) {
    double least = 100;
    for (const auto& line : lines) {
        for (std::size_t i = from; i < line.size(); ++i) {
            least = std::min(least, line[i]);
        }
    }
    return least;
}

std::vector<PlotPanel> panels_of(const std::vector<PolicyResult>& results) {
    PlotPanel whole{"Allocated GPU", "% of capacity", 0, 1, 0, 100, {}};
    PlotPanel fragmented{
        "Fragmented GPU (idle, but of no use to the mix)", "% of capacity", 0, 1, 0, 1, {}};
    std::size_t last = 1;
    for (const PolicyResult& result : results) {
        whole.lines.push_back(result.curves.allocated);
        fragmented.lines.push_back(result.curves.fragmented);
        last = std::max(last, result.curves.allocated.size());
    }
    whole.x_high = fragmented.x_high = static_cast<double>(last > 1 ? last - 1 : 1);
    fragmented.y_high = std::max(1.0, std::ceil(largest(fragmented.lines) * 1.05));
    std::vector<PlotPanel> panels{whole};
    // Policies part near saturation, so that stretch is shown again, larger.
    constexpr std::size_t kZoomFrom = 80;
    if (last > kZoomFrom + 10) {
        PlotPanel zoom = whole;
        zoom.title = "Allocated GPU near saturation";
        zoom.x_low = kZoomFrom;
        zoom.y_low = std::floor(std::max(0.0, smallest_from(whole.lines, kZoomFrom) - 0.5));
        zoom.y_high = std::min(100.0, std::ceil(largest(whole.lines) + 0.5));
        panels.push_back(std::move(zoom));
    }
    if (largest(fragmented.lines) > 0) {
        panels.push_back(std::move(fragmented));
    }
    return panels;
}

std::string legend(const std::vector<PolicyResult>& results, double& height) {
    std::string out;
    double x = kLeft;
    double y = kTop;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const double width = 52 + 8.0 * static_cast<double>(results[i].policy.size());
        if (x + width > kWidth - kRight && x > kLeft) {
            x = kLeft;
            y += kLegendLine;
        }
        out += fmt::format(
            "<line {0} x1=\"{1:.0f}\" x2=\"{2:.0f}\" y1=\"{3:.0f}\" "
            "y2=\"{3:.0f}\"/><text class=\"legend\" x=\"{4:.0f}\" y=\"{5:.0f}\">{6}</text>\n",
            line_style(i), x, x + 28, y, x + 34, y + 4, markup_text(results[i].policy));
        x += width;
    }
    height = y + kLegendLine;
    return out;
}

std::string title_of(const std::vector<PolicyResult>& results, const ReportContext& context) {
    return fmt::format("Workload {}, {} {}", context.workload, results.front().runs.size(),
                       results.front().runs.size() == 1 ? "run" : "runs per policy");
}

}  // namespace

std::string markup_text(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

std::vector<double> axis_ticks(double low, double high) {
    const double rough = (high - low) / 5;
    const double magnitude = std::pow(10, std::floor(std::log10(rough)));
    const double leading = rough / magnitude;
    const double factor = leading < 1.5 ? 1 : leading < 3.5 ? 2 : leading < 7.5 ? 5 : 10;
    const double step = factor * magnitude;
    std::vector<double> ticks;
    const double slack = step * 1e-6;
    for (double n = std::ceil(low / step - 1e-9); n * step <= high + slack; ++n) {
        ticks.push_back(n == 0 ? 0 : n * step);  // never "-0"
    }
    return ticks;
}

std::string render_svg(const std::vector<PolicyResult>& results, const ReportContext& context) {
    double top = 0;
    std::string body = fmt::format("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kLeft,
                                   markup_text(title_of(results, context)));
    body += legend(results, top);
    for (const PlotPanel& panel : panels_of(results)) {
        body += PanelDrawing(panel, top).draw();
        top += kPanelHeight + kPanelGap;
    }
    return fmt::format(
        "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" "
        "width=\"{0}\" height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}: allocated and fragmented "
        "GPU against arrived demand\">\n{3}{4}</svg>\n",
        kWidth, top, markup_text(title_of(results, context)), kStyle, body);
}

std::string render_html(const std::vector<PolicyResult>& results, const ReportContext& context) {
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n";
    page += fmt::format("<title>Tessera: {}</title>\n", markup_text(title_of(results, context)));
    page += R"(<style>
body{margin:2rem auto;max-width:900px;padding:0 1rem;color:#1c2733;background:#fff;
font-family:system-ui,-apple-system,"Segoe UI",sans-serif;line-height:1.5}
pre{overflow-x:auto;font-size:13px;line-height:1.45;padding:1rem;border:1px solid #e3e8ee;border-radius:6px}
svg{max-width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#e7edf3;background:#12181f}pre{border-color:#2b3743}}
</style>
</head>
<body>
)";
    page += fmt::format("<h1>Simulation: {}, protocol {}</h1>\n", markup_text(context.workload),
                        to_string(context.protocol));
    if (context.protocol == Protocol::inflate) {
        page += render_svg(results, context);
    }
    page += fmt::format("<h2>Results</h2>\n<pre>{}</pre>\n",
                        markup_text(report_table(results, context)));
    return page + "</body>\n</html>\n";
}

}  // namespace tessera
