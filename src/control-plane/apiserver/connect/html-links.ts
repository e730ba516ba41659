import { Buffer } from 'node:buffer';
import { Transform } from 'node:stream';

/** The attributes that contain one URL (https://html.spec.whatwg.org/#attributes-3), in any element. */
const urlAttributes = new Set([
  'action',
  'background',
  'cite',
  'data',
  'formaction',
  'href',
  'longdesc',
  'poster',
  'src',
]);
/** The elements whose content is raw text. */
const textElements = new Set(['script', 'style', 'textarea', 'title']);
/** The length from which a tag is passed on unchanged. */
const MAX_TAG_BYTES = 64 * 1024;

type Rewrite = (url: string) => string;

/**
 * Rewrites the URLs in the start tags of an HTML page as it passes (upstream: util/proxy Transport). Everything else is
 * passed on byte for byte. It holds back at most one tag, and reads each byte once.
 */
export function htmlLinks(rewrite: Rewrite): Transform {
  const scanner = new TagScanner(rewrite);
  // HTML's syntax is ASCII in every encoding that browsers accept, so bytes are kept unchanged.
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) =>
      done(null, Buffer.from(scanner.write(chunk.toString('latin1')), 'latin1')),
    flush: (done) => done(null, Buffer.from(scanner.end(), 'latin1')),
  });
}

/** The state of the scanner: between tags, in a tag (with the open quote), in a comment, or in raw text. */
type Place =
  | { readonly in: 'text' }
  | { readonly in: 'tag'; readonly quote: '' | '"' | "'" }
  | { readonly in: 'comment' }
  | { readonly in: 'raw'; readonly element: string };

class TagScanner {
  readonly #rewrite: Rewrite;
  #place: Place = { in: 'text' };
  /** The buffered part of an incomplete tag. */
  #held = '';
  /** The last characters of a comment or of raw text, in which its end is searched. */
  #tail = '';

  constructor(rewrite: Rewrite) {
    this.#rewrite = rewrite;
  }

  write(text: string): string {
    let out = '';
    for (const character of text) out += this.#next(character);
    return out;
  }

  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }

  #next(character: string): string {
    switch (this.#place.in) {
      case 'text':
        if (character !== '<') return character;
        this.#held = character;
        this.#place = { in: 'tag', quote: '' };
        return '';
      case 'tag':
        return this.#inTag(character, this.#place.quote);
      case 'comment':
        return this.#until(character, '-->');
      case 'raw':
        return this.#until(character, `</${this.#place.element}`);
    }
  }

  #inTag(character: string, quote: '' | '"' | "'"): string {
    this.#held += character;
    if (this.#held === '<!--') return this.#release({ in: 'comment' });
    if (this.#held.length === 2 && !/[a-z/!?]/i.test(character)) return this.#release({ in: 'text' });
    if (this.#held.length > MAX_TAG_BYTES) return this.#release({ in: 'text' });
    if (quote !== '') {
      if (character === quote) this.#place = { in: 'tag', quote: '' };
      return '';
    }
    if (character === '"' || character === "'") this.#place = { in: 'tag', quote: character };
    if (character !== '>') return '';
    const name = /^<([a-z][^\s/>]*)/i.exec(this.#held)?.[1]?.toLowerCase();
    if (name !== undefined) this.#held = rewriteTag(this.#held, this.#rewrite);
    return this.#release(name !== undefined && textElements.has(name) ? { in: 'raw', element: name } : { in: 'text' });
  }

  #release(place: Place): string {
    const tag = this.#held;
    this.#held = '';
    this.#tail = '';
    this.#place = place;
    return tag;
  }

  #until(character: string, end: string): string {
    this.#tail = (this.#tail + character.toLowerCase()).slice(-end.length);
    if (this.#tail === end) this.#place = { in: 'text' };
    return character;
  }
}

/** Matches one attribute with its value. A match begins only where a name begins, so that the cost is linear. */
const attribute = /(?<![^\s"'=<>/])([^\s"'=<>/]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/g;

function rewriteTag(tag: string, rewrite: Rewrite): string {
  return tag.replace(attribute, (whole, name: string, equals: string, value: string) => {
    if (!urlAttributes.has(name.toLowerCase())) return whole;
    const quote = value.startsWith('"') || value.startsWith("'") ? value.charAt(0) : '';
    const url = quote === '' ? value : value.slice(1, -1);
    return `${name}${equals}${quote}${rewrite(url)}${quote}`;
  });
}
