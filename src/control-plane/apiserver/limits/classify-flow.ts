import type { UserInfo } from '../../model/user-info.ts';
import type { RequestInfo } from '../path/request-info.ts';
import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../../api/flowcontrol/flow-schema.ts';
import type { FlowSchema } from './flow-config.ts';

/** Returns the first matching FlowSchema in the order of precedence, and the request's flow in it. */
export function classifyFlow(
  schemas: readonly FlowSchema[],
  user: UserInfo,
  info: RequestInfo,
): { readonly schema: FlowSchema; readonly flow: string } | undefined {
  const schema = schemas.find(({ rules }) => rules.some((rule) => matches(rule, user, info)));
  if (schema === undefined) return undefined;
  return {
    schema,
    flow: schema.distinguisher === 'user' ? user.name : schema.distinguisher === 'namespace' ? info.namespace : '',
  };
}

/** Whether a rule matches the request (upstream: util/flowcontrol matchesPolicyRule). */
function matches(rule: PolicyRulesWithSubjects, user: UserInfo, info: RequestInfo): boolean {
  if (!rule.subjects.some((subject) => isSubject(subject, user))) return false;
  return info.resourceRequest
    ? (rule.resourceRules ?? []).some((each) => isResource(each, info))
    : (rule.nonResourceRules ?? []).some((each) => isPath(each, info));
}

function isSubject({ kind, user, group, serviceAccount }: Subject, { name, groups }: UserInfo): boolean {
  if (kind === 'User') return user?.name === '*' || user?.name === name;
  if (kind === 'Group') return group?.name === '*' || (group !== undefined && groups.includes(group.name));
  if (kind !== 'ServiceAccount' || serviceAccount === undefined) return false;
  const prefix = `system:serviceaccount:${serviceAccount.namespace}:`;
  return serviceAccount.name === '*' ? name.startsWith(prefix) : name === prefix + serviceAccount.name;
}

const holds = (list: readonly string[], value: string): boolean => list.includes('*') || list.includes(value);

function isResource(rule: ResourcePolicyRule, info: RequestInfo): boolean {
  const { clusterScope = false, namespaces = [] } = rule;
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  return (
    holds(rule.verbs, info.verb) &&
    holds(rule.apiGroups, info.group) &&
    holds(rule.resources, resource) &&
    (info.namespace === '' ? clusterScope : holds(namespaces, info.namespace))
  );
}

function isPath({ verbs, nonResourceURLs }: NonResourcePolicyRule, { verb, path }: RequestInfo): boolean {
  if (!holds(verbs, verb)) return false;
  return nonResourceURLs.some(
    (url) => url === '*' || url === path || (url.endsWith('/*') && path.startsWith(url.slice(0, -1))),
  );
}

/**
 * Returns the queues of a flow (shuffle sharding): a hand of distinct cards that depends only on the flow, so that two
 * flows rarely share all queues.
 */
export function dealHand(flow: string, deckSize: number, handSize: number): readonly number[] {
  let hash = fnv64(flow);
  const hand: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    let card = Number(hash % left);
    hash /= left;
    // The card's index counts only cards that were not dealt yet.
    for (const taken of [...hand].sort((one, other) => one - other)) if (card >= taken) card++;
    hand.push(card);
  }
  return hand;
}

/**
 * Hashes with FNV-1a (64 bits) and a final mix, so that names that differ only in the last letter get completely
 * different hands.
 */
function fnv64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  hash = BigInt.asUintN(64, (hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn);
  return hash ^ (hash >> 33n);
}
