/**
 * Replaces `$(NAME)` by its value; `$$` is a literal `$`; references to nothing and half-open ones stay as they are
 * (upstream: third_party/forked/golang/expansion).
 */
export function expandVariables(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found: string, name: string | undefined) =>
    name === undefined ? '$' : (lookup(name) ?? found),
  );
}
