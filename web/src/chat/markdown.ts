// An answer's text as HTML. What a model writes is nobody's: everything that could load, run or
// dress itself up as the page is taken out.
import DOMPurify from "dompurify";
import { marked } from "marked";

const kForbiddenTags = ["img", "style", "form", "input", "button", "svg", "math", "audio", "video",
  "picture", "source", "iframe", "textarea", "select", "dialog", "template"];

// HTML in an answer is text like any other. (Taken out later it would first be parsed, and the
// browser would complain of handlers that the page's policy forbids.)
const kEscapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

marked.use({
  renderer: {
    html: ({ text }) => text.replace(/[&<>"]/g, (mark) => kEscapes[mark] ?? mark),
  },
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

export function toHtml(text: string): string {
  const html = marked.parse(text, { async: false, gfm: true, breaks: true });
  return DOMPurify.sanitize(html, {
    FORBID_TAGS: kForbiddenTags,
    FORBID_ATTR: ["style", "class", "id", "name"],
    ALLOW_DATA_ATTR: false,
  });
}
