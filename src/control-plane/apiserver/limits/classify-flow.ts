import type { UserInfo } from '../../model/user-info.ts';
import type { RequestInfo } from '../path/request-info.ts';
import type { FlowRule, FlowSchema } from './flow-config.ts';

/** The schema a request belongs to, the first that matches of those in order of precedence, and the flow in it. */
export function classifyFlow(
  schemas: readonly FlowSchema[],
  user: UserInfo,
  info: RequestInfo,
): { readonly schema: FlowSchema; readonly flow: string } | undefined {
  const schema = schemas.find(
    (each) =>
      isSubject(each, user) && (each.requests === undefined || each.requests.some((rule) => matches(rule, info))),
  );
  if (schema === undefined) return undefined;
  return {
    schema,
    flow: schema.distinguisher === 'user' ? user.name : schema.distinguisher === 'namespace' ? info.namespace : '',
  };
}

function isSubject({ subjects }: FlowSchema, { name, groups }: UserInfo): boolean {
  if (subjects.users?.includes(name) === true) return true;
  if (subjects.groups?.some((group) => groups.includes(group)) === true) return true;
  return (
    subjects.serviceAccountsIn !== undefined && name.startsWith(`system:serviceaccount:${subjects.serviceAccountsIn}:`)
  );
}

function matches(rule: FlowRule, info: RequestInfo): boolean {
  if (!rule.verbs.includes('*') && !rule.verbs.includes(info.verb)) return false;
  if ('paths' in rule) return !info.resourceRequest && rule.paths.includes(info.path);
  return (
    info.resourceRequest &&
    rule.group === info.group &&
    rule.resources.includes(info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`)
  );
}

/**
 * Which queues a flow may wait in: a hand of different cards, the same for the same flow, so that two flows seldom
 * share all of theirs.
 */
export function dealHand(flow: string, deckSize: number, handSize: number): readonly number[] {
  let hash = fnv64(flow);
  const hand: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    let card = Number(hash % left);
    hash /= left;
    // The card counts among those not dealt yet.
    for (const taken of [...hand].sort((one, other) => one - other)) if (card >= taken) card++;
    hand.push(card);
  }
  return hand;
}

/**
 * FNV-1a, 64 bits, with its bits mixed once more: names that differ in their last letter get hands that differ in all
 * cards.
 */
function fnv64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  hash = BigInt.asUintN(64, (hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn);
  return hash ^ (hash >> 33n);
}
