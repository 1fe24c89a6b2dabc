// Puts the built app where the Python package finds it. It is git-ignored there and goes into the wheel.
import { copyFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../dist/index.html", import.meta.url));
const installed = fileURLToPath(new URL("../../src/headway/report/html/app.html", import.meta.url));
copyFileSync(built, installed);
console.log(`${installed}: ${(statSync(installed).size / 1024).toFixed(0)} KiB`);
