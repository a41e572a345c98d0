//! Writes an HTML page. All text and every attribute value is escaped, so no string from a host becomes markup.

use crate::wire::foreign_text::{code_point, is_hidden};

/// A page, from its first tag to its last.
#[derive(Debug, Default)]
pub(crate) struct HtmlPage {
    out: String,
}

impl HtmlPage {
    /// Begins an element. Names of tags and attributes are constants; values may be any string.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            self.escaped(value);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Ends an element.
    pub(crate) fn close(&mut self, tag: &'static str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    /// Writes escaped text.
    pub(crate) fn text(&mut self, text: &str) {
        self.escaped(text);
    }

    /// Writes an element that contains only text.
    pub(crate) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: &str,
    ) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// Writes constant markup unescaped.
    pub(crate) fn ours(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Writes a drawing unchanged. The drawing consists of the harness's own numbers and contains no string of a
    /// target.
    pub(crate) fn drawing(&mut self, svg: &str) {
        self.out.push_str(svg);
    }

    /// Returns the finished page.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn escaped(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                '\n' | '\t' => self.out.push(letter),
                // Characters that reverse the text direction or are invisible are shown as code points.
                letter if is_hidden(letter) => code_point(&mut self.out, letter),
                _ => self.out.push(letter),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut page = HtmlPage::default();
        page.element(
            "p",
            &[("title", "a\"><script>")],
            "</p><script>alert('1')</script>&\u{202e}\u{0}",
        );
        assert_eq!(
            page.finish(),
            "<p title=\"a&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)\
             &lt;/script&gt;&amp;\\u{202e}\\u{0}</p>"
        );
    }
}
