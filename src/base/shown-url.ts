/** Formats a URL for messages and logs as Go does, without the password. A text that is not a URL is unchanged. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.password === '') return text;
  url.password = 'xxxxx';
  return url.href;
}
