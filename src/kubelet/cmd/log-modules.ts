import type { LoggingConfig } from '../model/config/kubelet-config.ts';

/**
 * Computes the log level of a source file from `--vmodule`; undefined if no pattern matches. A pattern without a slash
 * is compared with the name of the file, and one with a slash with its path, both without the extension. `*`, `?` and
 * `[...]` are as in klog (upstream: klog setV). The first pattern that matches is used. `_` and `-` are equal, so that
 * patterns for upstream's files match files with the same name here.
 */
export function computeModuleLevels(vmodule: LoggingConfig['vmodule']): (path: string) => number | undefined {
  const rules = vmodule.map(({ filePattern, verbosity }) => ({
    isPath: filePattern.includes('/'),
    pattern: globOf(filePattern.replaceAll('_', '-')),
    verbosity,
  }));
  const known = new Map<string, number | undefined>();
  return (path) => {
    if (!known.has(path)) {
      const whole = path.replace(/\.[cm]?[jt]s$/, '').replaceAll('_', '-');
      const name = whole.slice(whole.lastIndexOf('/') + 1);
      known.set(path, rules.find(({ isPath, pattern }) => pattern.test(isPath ? whole : name))?.verbosity);
    }
    return known.get(path);
  };
}

/** Converts a glob (upstream: Go's filepath.Match). A pattern with an unclosed bracket matches nothing. */
function globOf(glob: string): RegExp {
  let source = '';
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? '';
    const end = char === '[' ? glob.indexOf(']', at + 2) : -1;
    if (char === '*') source += source.endsWith('[^/]*') ? '' : '[^/]*';
    else if (char === '?') source += '[^/]';
    else if (end > 0) {
      source += `[${glob.slice(at + 1, end).replace(/[\\[\]]/g, '\\$&')}]`;
      at = end;
    } else if (char === '[') return /(?!)/;
    else source += char.replace(/[\\^$.|+(){}\]]/g, '\\$&');
  }
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return /(?!)/;
  }
}

/** Returns the file and the position of a stack frame, `at f (file:///a/b.ts:1:2)`. */
export function frameOf(line: string): { file: string; line: number; column: number } | undefined {
  const [, file, row, column] = /(?:\s|\()(?:file:\/\/)?(\/[^()]{1,4096}):(\d{1,9}):(\d{1,9})\)?$/.exec(line) ?? [];
  return file === undefined ? undefined : { file, line: Number(row), column: Number(column) };
}
