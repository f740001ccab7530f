import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { oneFile } from "./build/one-file.ts";
import { sourceHash } from "./build/source-hash.ts";

const root = fileURLToPath(new URL(".", import.meta.url)).replace(/[\\/]$/, "");

export default defineConfig({
  plugins: [react(), oneFile(sourceHash(root))],
  build: {
    target: "es2022",
    // A classic script: module scripts do not run on pages opened from disk.
    modulePreload: false,
    assetsInlineLimit: 1_000_000,
    cssCodeSplit: false,
    rollupOptions: { output: { format: "iife" } },
  },
});
