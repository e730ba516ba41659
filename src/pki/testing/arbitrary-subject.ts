import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { attribute, constructed, ids, objectId, sequence, set, tags, tlv } from './der-builder.ts';

const types = [ids.cn, ids.cn, ids.o, ids.o, ids.ou, ids.c, ids.uid, ids.unknown, ids.email] as const;
const words = [
  'system:masters',
  'system:nodes',
  'system:node:n1',
  'system:kube-controller-manager',
  'jane',
  'é',
  '\ufefföl',
  '😀',
  'a, O=b',
  'a\0b',
  'a\nb',
  '"',
  '*',
  '',
] as const;

/** The word encoded as a string with this tag. */
function encoded(word: string, tag: number): Buffer {
  if (tag === tags.bmp) return Buffer.from(word, 'utf16le').swap16();
  if (tag !== tags.universal) return Buffer.from(word);
  return Buffer.concat(
    [...word].map((sign) => Buffer.from((sign.codePointAt(0) ?? 0).toString(16).padStart(8, '0'), 'hex')),
  );
}

const honest = fc.tuple(
  fc.constantFrom(ids.cn, ids.o, ids.ou),
  fc.constantFrom(...words.slice(0, 8)),
  fc.constantFrom(tags.utf8, tags.printable),
);
const odd = fc.oneof(
  fc
    .tuple(fc.constantFrom(...types), fc.constantFrom(...words), fc.constantFrom(...Object.values(tags)))
    .map(([type, word, tag]) => attribute(type, encoded(word, tag), tag)),
  fc
    .tuple(fc.constantFrom(...types), fc.uint8Array({ maxLength: 8 }), fc.constantFrom(...Object.values(tags)))
    .map(([type, bytes, tag]) => attribute(type, bytes, tag)),
  fc
    .tuple(fc.constantFrom(...types), fc.array(fc.constantFrom(...words), { maxLength: 3 }))
    .map(([type, pieces]) => constructed(type, ...pieces)),
  fc
    .tuple(fc.constantFrom(...types), fc.constantFrom(...words), fc.integer({ min: 1, max: 3 }))
    .map(([type, word, lengthBytes]) => sequence(objectId(type), tlv(tags.utf8, Buffer.from(word), { lengthBytes }))),
  fc
    .tuple(fc.constantFrom(...types), fc.constantFrom(...words))
    .map(([type, word]) =>
      sequence(objectId(type), tlv(tags.utf8, Buffer.from(word)), tlv(tags.utf8, Buffer.from('more'))),
    ),
);
const anyAttribute = fc.oneof(
  { weight: 3, arbitrary: honest.map(([type, word, tag]) => attribute(type, word, tag)) },
  { weight: 1, arbitrary: odd },
);
/** Several organizations in one RDN, as Go writes them. */
const severalOf = fc
  .tuple(
    fc.constantFrom(ids.o, ids.o, ids.ou, ids.cn),
    fc.uniqueArray(fc.constantFrom(...words.slice(0, 8)), { minLength: 2, maxLength: 4 }),
  )
  .map(([type, values]) => set(...values.map((value) => attribute(type, value))));
const rdn = fc.oneof(
  { weight: 6, arbitrary: anyAttribute.map((each) => set(each)) },
  { weight: 1, arbitrary: severalOf },
  { weight: 1, arbitrary: fc.array(anyAttribute, { maxLength: 3 }).map((each) => set(...each)) },
  { weight: 1, arbitrary: fc.tuple(anyAttribute, anyAttribute).map((each) => tlv(0x31, each)) },
);

/** Names: some that all parsers read the same, some with one error, and some with many errors. */
export const arbitrarySubject: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: fc.array(rdn, { maxLength: 5 }).map((rdns) => sequence(...rdns)) },
  { weight: 3, arbitrary: kubeletLike() },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(rdn, { maxLength: 3 }), fc.integer({ min: 1, max: 3 }))
      .map(([rdns, lengthBytes]) => tlv(0x30, rdns, { lengthBytes })),
  },
);

/** The subject that a kubelet requests, with something added. */
function kubeletLike(): fc.Arbitrary<Uint8Array> {
  const [nodes, node] = [attribute(ids.o, 'system:nodes'), attribute(ids.cn, 'system:node:n1')];
  return fc
    .tuple(
      fc.option(anyAttribute, { nil: undefined, freq: 1 }),
      fc.option(anyAttribute, { nil: undefined, freq: 1 }),
      fc.option(rdn, { nil: undefined, freq: 1 }),
      fc.boolean(),
    )
    .map(([besideNodes, besideNode, other, isFirst]) => {
      const own = [
        set(nodes, ...(besideNodes === undefined ? [] : [besideNodes])),
        set(node, ...(besideNode === undefined ? [] : [besideNode])),
      ];
      const more = other === undefined ? [] : [other];
      return sequence(...(isFirst ? [...more, ...own] : [...own, ...more]));
    });
}
