#pragma once

// Pieces of a page: whatever comes from files or names is escaped on its way in.

#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

// Of text between tags and in quoted attributes.
std::string html_escaped(std::string_view text);

// <p class="KIND">TEXT</p>
std::string html_paragraph(std::string_view text, std::string_view kind = {});
std::string html_heading(std::string_view text);

struct HtmlTable {
  struct Column {
    std::string name;
    std::string unit;     // may be empty
    bool number = false;  // set to the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
};

// Scrolls by itself where it is wider than the page.
std::string html_table(const HtmlTable& table);

// Terms and what is said of them; those of which nothing is said are left out.
std::string html_terms(const std::vector<std::pair<std::string, std::string>>& terms);

// As it is, in type of one width.
std::string html_verbatim(std::string_view text);

std::string html_list(const std::vector<std::string>& items);

// A figure of the page. Either a drawing or why there is none.
struct HtmlPicture {
  std::string title;  // the question that it answers
  std::string svg;    // as matplotlib writes it
  std::string missing;
};

// The drawing becomes part of the page: without its prologue and metadata, as wide as there is
// room, and with names of its own (`number` tells it from the others of the page), since those of
// several drawings are alike.
std::string html_picture(const HtmlPicture& picture, int number);

// A whole document, which needs nothing from elsewhere: fits a phone, a screen, light or dark, and
// paper.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace gradhaul
