#include "analysis/html_text.h"

#include <fmt/format.h>

namespace gradhaul {
namespace {

// A policy that forbids every load makes sure that the page is whole; a drawing may hold images
// within itself.
constexpr std::string_view kHead = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 style-src 'unsafe-inline'; img-src data:">
)";

constexpr std::string_view kStyle = R"(<style>
:root { --ink: #1b1f24; --paper: #ffffff; --soft: #5a6572; --line: #d5dae0; --stripe: #f4f6f8;
  --bad: #a1260d; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --paper: #14181d; --soft: #9aa6b2; --line: #3a434d; --stripe: #1c2229;
    --bad: #ff9e85; }
}
body { margin: 0 auto; max-width: 68rem; padding: 1rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; border-bottom: 1px solid var(--line); }
p.question { font-size: 1.1rem; color: var(--soft); margin: 0.25rem 0; }
p.answer { font-size: 1.15rem; font-weight: 600; }
p.bad { color: var(--bad); }
p, li, dd { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: left; white-space: nowrap; }
th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
th small { display: block; font-weight: normal; color: var(--soft); }
td.number, th.number { text-align: right; }
tbody tr:nth-child(even) { background: var(--stripe); }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 34rem; height: auto; background: #ffffff; }
dl + h1, pre + h1 { margin-top: 4rem; border-top: 3px solid var(--line); padding-top: 1rem; }
dt { color: var(--soft); font-size: 0.9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
dd { margin: 0; }
pre { overflow-x: auto; padding: 0.7rem; background: var(--stripe); font-size: 0.8rem;
  line-height: 1.4; }
code { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { display: block; }
  dd { margin-bottom: 0.5rem; }
}
@media print {
  :root { --ink: #000000; --paper: #ffffff; --soft: #444444; --line: #999999; --stripe: #f4f4f4;
    --bad: #a1260d; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide, pre, figure { overflow: visible; }
  figure svg { min-width: 0; }
  dl + h1, pre + h1 { break-before: page; border: none; }
  table { font-size: 7.5pt; }
  th, td { padding: 0.1rem 0.3rem; white-space: normal; }
  pre { white-space: pre-wrap; font-size: 7pt; }
  figure, tr, dl { break-inside: avoid; }
  h2 { break-after: avoid; }
}
</style>
)";

// `text` with every `mark` followed by `prefix`.
void add_after(std::string& text, std::string_view mark, std::string_view prefix) {
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) {
    text.insert(at + mark.size(), prefix);
  }
}

// From `begin` as far as `end`, both included.
void cut(std::string& text, std::string_view begin, std::string_view end) {
  for (std::size_t from = text.find(begin); from != text.npos; from = text.find(begin, from)) {
    const std::size_t to = text.find(end, from);
    if (to == text.npos) return;
    text.erase(from, to + end.size() - from);
  }
}

// The root's own width and height would hold against the page's.
void drop_size(std::string& svg) {
  for (const std::string_view name : {" width=\"", " height=\""}) {
    const std::size_t root_end = svg.find('>');
    const std::size_t from = svg.find(name);
    if (from >= root_end) continue;
    svg.erase(from, svg.find('"', from + name.size()) + 1 - from);
  }
}

std::string inline_svg(const HtmlPicture& picture, int number) {
  std::string svg = picture.svg;
  const std::size_t begin = svg.find("<svg");
  if (begin == svg.npos) return "";
  svg.erase(0, begin);
  cut(svg, "<metadata", "</metadata>");
  drop_size(svg);
  const std::string prefix = fmt::format("p{}-", number);
  add_after(svg, " id=\"", prefix);
  add_after(svg, "url(#", prefix);
  add_after(svg, "href=\"#", prefix);
  svg.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", html_escaped(picture.title)));
  return svg;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string html_paragraph(std::string_view text, std::string_view kind) {
  if (text.empty()) return "";
  const std::string attribute = kind.empty() ? std::string() : fmt::format(" class=\"{}\"", kind);
  return fmt::format("<p{}>{}</p>\n", attribute, html_escaped(text));
}

std::string html_heading(std::string_view text) {
  return fmt::format("<h2>{}</h2>\n", html_escaped(text));
}

std::string html_table(const HtmlTable& table) {
  if (table.rows.empty()) return "";
  const auto cell_class = [](const HtmlTable::Column& column) {
    return column.number ? " class=\"number\"" : "";
  };
  std::string text = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const HtmlTable::Column& column : table.columns) {
    text += fmt::format("<th{}>{}<small>{}</small></th>", cell_class(column),
                        html_escaped(column.name), html_escaped(column.unit));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("<td{}>{}</td>", cell_class(table.columns[i]), html_escaped(row[i]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_terms(const std::vector<std::pair<std::string, std::string>>& terms) {
  std::string text = "<dl>\n";
  for (const auto& [term, said] : terms) {
    if (said.empty()) continue;
    text += fmt::format("<dt>{}</dt><dd><code>{}</code></dd>\n", html_escaped(term),
                        html_escaped(said));
  }
  return text + "</dl>\n";
}

std::string html_verbatim(std::string_view text) {
  return fmt::format("<pre>{}</pre>\n", html_escaped(text));
}

std::string html_list(const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string text = "<ul>\n";
  for (const std::string& item : items) text += fmt::format("<li>{}</li>\n", html_escaped(item));
  return text + "</ul>\n";
}

std::string html_picture(const HtmlPicture& picture, int number) {
  const std::string svg = inline_svg(picture, number);
  if (svg.empty()) {
    return html_paragraph(
        fmt::format("{} A picture would tell, but was not drawn: {}.", picture.title,
                    picture.missing.empty() ? "no drawing came" : picture.missing),
        "missing");
  }
  return fmt::format("<figure>{}</figure>\n", svg);
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}<title>{}</title>\n{}</head>\n"
      "<body>\n{}</body>\n</html>\n",
      kHead, html_escaped(title), kStyle, body);
}

}  // namespace gradhaul
