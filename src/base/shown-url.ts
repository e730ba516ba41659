/** A URL for messages and logs: as Go shows it, without the password. What is no URL is shown as it is. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.password === '') return text;
  url.password = 'xxxxx';
  return url.href;
}
