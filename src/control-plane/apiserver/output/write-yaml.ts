/*
 * YAML of plain JSON values as Go's sigs.k8s.io/yaml writes it: keys in order, sequences as deep as their key, no folded lines. Written here because a
 * general library takes two milliseconds for a pod, during which nothing else is served: a list of 5,000 took nine seconds.
 */

/** Writes a mapping as a YAML document that ends with a line break. */
export function writeYaml(value: unknown): string {
  const out: string[] = [];
  if (isCollection(value)) writeCollection(out, value, '', '');
  else out.push(scalar(value, ''), '\n');
  return out.join('');
}

/** Writes a value as one item of a sequence at the document's margin. */
export function yamlItem(value: unknown): string {
  const out: string[] = [];
  writeItem(out, value, '');
  return out.join('');
}

type Collection = readonly unknown[] | Readonly<Record<string, unknown>>;

const isCollection = (value: unknown): value is Collection => typeof value === 'object' && value !== null;
const isEmpty = (value: Collection): boolean =>
  Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
const empty = (value: Collection): string => (Array.isArray(value) ? '[]' : '{}');

/** Writes a collection. `first` is written before the first entry, `margin` before the others. */
function writeCollection(out: string[], value: Collection, first: string, margin: string): void {
  if (isEmpty(value)) out.push(first, empty(value), '\n');
  else if (isArray(value)) {
    value.forEach((item, index) => {
      if (index === 0) out.push(first);
      writeItem(out, item, margin, index === 0);
    });
  } else writeMapping(out, value, first, margin);
}

const isArray = (value: Collection): value is readonly unknown[] => Array.isArray(value);

function writeItem(out: string[], item: unknown, margin: string, hasMargin = false): void {
  if (!hasMargin) out.push(margin);
  if (isCollection(item)) writeCollection(out, item, '- ', `${margin}  `);
  else out.push('- ', scalar(item, margin), '\n');
}

function writeMapping(out: string[], value: Readonly<Record<string, unknown>>, first: string, margin: string): void {
  let before = first;
  for (const key of Object.keys(value).sort()) {
    const item = value[key];
    if (item === undefined) continue;
    out.push(before, keyText(key, margin), ':');
    before = margin;
    if (!isCollection(item)) out.push(' ', scalar(item, margin), '\n');
    else if (isEmpty(item)) out.push(' ', empty(item), '\n');
    else {
      out.push('\n');
      const inner = isArray(item) ? margin : `${margin}  `;
      writeCollection(out, item, inner, inner);
    }
  }
}

/** Matches plain scalars that are strings in every version of YAML. */
const plain = /^[\w/][\w./-]*(?::[\w./-]+)*$/;
/** Matches plain scalars that YAML 1.1 or 1.2 does not parse as strings. */
const meansMore =
  /^(?:~|null|true|false|yes|no|on|off|y|n|\.nan|[-+]?\.inf|[-+]?(?=[\d.])(?:\d[\d_]*)?(?:\.[\d_]*)?(?:e[-+]?\d+)?|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?|[-+]?0[xob][\da-f_]+|\d{4}-\d{1,2}-\d{1,2}.*)$/i;
/** Matches texts that a parser leaves unchanged in single quotes or a block scalar. */
const printable = /^[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;
/** Matches characters that JSON does not escape and YAML treats as line breaks or drops. */
const unprintable = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** The length from which keys need the indicator `?`. */
const LONGEST_PLAIN_KEY = 1000;

function scalar(value: unknown, margin: string): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null);
  return value.includes('\n') ? (block(value, `${margin}  `) ?? quoted(value)) : line(value);
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(unprintable, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function line(text: string): string {
  if (text === '' || meansMore.test(text) || !printable.test(text)) return quoted(text);
  return plain.test(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

function keyText(key: string, margin: string): string {
  if (key.length > LONGEST_PLAIN_KEY) return `? ${quoted(key)}\n${margin}`;
  return key.includes('\n') ? quoted(key) : line(key);
}

/** Writes a literal block scalar, if a parser can detect its indentation. */
function block(text: string, margin: string): string | undefined {
  const lines = text.split('\n');
  if (/^\s/.test(text) || !lines.every((each) => printable.test(each.replaceAll('\t', ' ')))) return undefined;
  const end = !text.endsWith('\n') ? '-' : text.endsWith('\n\n') ? '+' : '';
  const shown = text.endsWith('\n') ? lines.slice(0, -1) : lines;
  return `|${end}\n${shown.map((each) => (each === '' ? '' : `${margin}${each}`)).join('\n')}`;
}
