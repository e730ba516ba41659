import { KubeletError } from '../base/errors.ts';

/** The kernel's limit for one argument or variable (MAX_ARG_STRLEN). Programs cannot be started with longer ones. */
const LONGEST_TEXT = 128 * 1024;
const MOST_IN_ALL = 6 * 1024 * 1024;

/**
 * Counts the total size of the variables of a container. Each variable may contain another one twice, so thirty of them
 * could fill any memory.
 */
export class ExpandedSize {
  #characters = 0;

  add(value: string): string {
    this.#characters += value.length;
    if (this.#characters > MOST_IN_ALL)
      throw new KubeletError(
        'Invalid',
        `the variables of the container have more than ${MOST_IN_ALL} bytes, which cannot be run`,
      );
    return value;
  }
}

/**
 * Replaces `$(NAME)` by the variable's value; `$$` is a literal `$`. References to unknown variables and unclosed ones
 * are not changed (upstream: third_party/forked/golang/expansion). Throws `Invalid` if the result exceeds the kernel's
 * limits.
 */
export function expandVariables(
  text: string,
  lookup: (name: string) => string | undefined,
  size: ExpandedSize,
): string {
  let characters = 0;
  // An unclosed reference extends to the end of the text, so the text is read only once.
  return text.replace(/\$\$|\$\(([^)]*)(\)|$)/g, (found: string, name: string | undefined, end: string | undefined) => {
    if (name === undefined) return '$';
    if (end !== ')') return found.replaceAll('$$', () => '$');
    const value = lookup(name);
    if (value === undefined) return found;
    characters += value.length;
    if (characters > LONGEST_TEXT)
      throw new KubeletError(
        'Invalid',
        `the expansion with $(${name}) has more than ${LONGEST_TEXT} bytes, which cannot be run`,
      );
    return size.add(value);
  });
}
