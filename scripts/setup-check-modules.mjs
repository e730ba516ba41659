// Exit 0 if node_modules holds what package-lock.json asks for. Plain JavaScript: it runs before the pinned Node is there.
import { existsSync, readFileSync } from 'node:fs';

function packages(path) {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).packages ?? {}) : {};
}

const wanted = packages('package-lock.json');
const present = packages('node_modules/.package-lock.json');
const wrong = Object.entries(wanted).filter(([path, entry]) => {
  if (path === '') return false;
  const installed = present[path];
  // An optional package for another processor is rightly absent.
  return installed === undefined ? entry.optional !== true : installed.version !== entry.version;
});
process.exitCode = wrong.length === 0 && existsSync('node_modules/.bin/node') ? 0 : 1;
