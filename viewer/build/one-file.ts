// Puts script and style into the page itself and writes the policy that forbids everything else.

import { createHash } from "node:crypto";
import type { Plugin } from "vite";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64");

/** `</script` and `<!--` inside a script would end or change it; in JavaScript both can only stand in strings and regular expressions. */
const inScript = (code: string): string => code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--").trim();
const inStyle = (css: string): string => css.replaceAll("</style", "<\\/style").trim();

export function oneFile(stamp: string): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build made no index.html");
      let script = "";
      let style = "";
      for (const [name, item] of Object.entries(bundle)) {
        if (name === "index.html") continue;
        if (item.type === "chunk") script += item.code;
        else if (name.endsWith(".css")) style += String(item.source);
        else throw new Error(`the page cannot hold ${name}`);
        delete bundle[name];
      }
      script = inScript(script);
      const policy = [
        "default-src 'none'", `script-src 'sha256-${sha256(script)}'`, "style-src 'unsafe-inline'", "img-src data:",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
      ].join("; ");
      const head = [
        `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
        `<meta name="agentfootprint-lens-sources" content="${stamp}">`,
        `<style>${inStyle(style)}</style>`,
      ].join("\n    ");
      // Functions as replacements: `$&` in the code must not be read as a pattern.
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
        .replace('<meta charset="utf-8" />', (meta) => `${meta}\n    ${head}`)
        // The program stands before the recording, so that a large file does not keep the page blank while it is read.
        .replace("<!--recording-->", (place) => `<script>${script}</script>\n    ${place}`);
    },
  };
}
