import { Buffer } from 'node:buffer';
import { constants, inflateSync } from 'node:zlib';
import { KubeletError } from '../base/errors.ts';

/** The dictionary of the standard (SPDY draft 3.1, section 2.6.10.1): names with their lengths, then plain text. */
const NAMES =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status';
const TAIL =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

function makeDictionary(): Buffer {
  const names = [
    ...NAMES.split(' '),
    '200 OK',
    'version',
    'HTTP/1.1',
    'url',
    'public',
    'set-cookie',
    'keep-alive',
    'origin',
  ];
  const sized = names.flatMap((name) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    return [length, Buffer.from(name, 'latin1')];
  });
  return Buffer.concat([...sized, Buffer.from(TAIL, 'latin1')]);
}

export const SPDY_DICTIONARY = makeDictionary();

/**
 * The limit for the headers of all streams of one connection together. A command has five streams with one short header
 * each.
 */
const MOST_PLAIN_BYTES = 16 * 1024;
const MOST_PACKED_BYTES = 16 * 1024;
const MOST_HEADERS = 32;

/**
 * Reads the header blocks of one connection, which form one zlib stream. Each new block is decompressed together with
 * all earlier ones: they are few and short, and no zlib object stays open. Throws `Invalid` for blocks that cannot be
 * read or exceed the limit.
 */
export class HeaderBlockReader {
  readonly #blocks: Buffer[] = [];
  #packedBytes = 0;
  #knownBytes = 0;

  read(block: Buffer): ReadonlyMap<string, string> {
    this.#packedBytes += block.length;
    if (this.#packedBytes > MOST_PACKED_BYTES)
      throw new KubeletError('Invalid', 'the headers of the streams are too long');
    // A copy: the block is part of a larger chunk, which must not be kept.
    this.#blocks.push(Buffer.from(block));
    const plain = this.#unpack();
    const headers = parseHeaders(plain.subarray(this.#knownBytes));
    this.#knownBytes = plain.length;
    return headers;
  }

  #unpack(): Buffer {
    try {
      return inflateSync(Buffer.concat(this.#blocks), {
        dictionary: SPDY_DICTIONARY,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: MOST_PLAIN_BYTES,
      });
    } catch (error) {
      throw new KubeletError('Invalid', 'the headers of a stream cannot be read', { cause: error });
    }
  }
}

function parseHeaders(plain: Buffer): ReadonlyMap<string, string> {
  let at = 0;
  const number = (): number => {
    if (at + 4 > plain.length) throw new KubeletError('Invalid', 'the headers of a stream are cut off');
    at += 4;
    return plain.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > plain.length) throw new KubeletError('Invalid', 'the headers of a stream are cut off');
    at += length;
    return plain.toString('utf8', at - length, at);
  };
  const count = number();
  if (count > MOST_HEADERS) throw new KubeletError('Invalid', `a stream with ${count} headers`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index += 1) headers.set(text().toLowerCase(), text());
  return headers;
}
