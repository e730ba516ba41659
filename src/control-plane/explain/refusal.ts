/** Why the API server refuses a controller's pods, with suggestions. */
export interface Refusal {
  readonly cause: string;
  readonly suggestion: string;
}

interface Known {
  readonly text: RegExp;
  readonly explain: (found: RegExpExecArray, namespace: string) => Refusal;
}

/** Patterns of API server messages, most specific first. The texts are upstream's. */
const known: readonly Known[] = [
  {
    text: /exceeded quota: ([^,\s]{1,253})/,
    explain: ([, name], namespace) => ({
      cause: `quota ${name} is exceeded`,
      suggestion: `raise it, or delete objects that it counts: kubectl describe quota ${name} -n ${namespace}`,
    }),
  },
  {
    text: /failed quota: ([^:\s]{1,253}): must specify ([^\s]{1,500})/,
    explain: ([, name, what]) => ({
      cause: `quota ${name} requires the pod to set ${what}`,
      suggestion: 'set it in the containers, or create a LimitRange with defaults',
    }),
  },
  {
    text: /status unknown for quota: ([^,\s]{1,253})/,
    explain: ([, name]) => ({
      cause: `the usage of quota ${name} has not been computed yet`,
      suggestion: 'check that a controller manager is running',
    }),
  },
  {
    text: /violates PodSecurity "([^"]{1,100})"/,
    explain: ([, level], namespace) => ({
      cause: `the pod security level ${level} of the namespace forbids it`,
      suggestion: `change the security context of the pod, or the label pod-security.kubernetes.io/enforce of namespace ${namespace}`,
    }),
  },
  {
    text: /failed calling webhook "([^"]{1,253})"/,
    explain: ([, name]) => ({
      cause: `admission webhook ${name} does not respond`,
      suggestion: 'restore its service, or change its failurePolicy',
    }),
  },
  {
    text: /admission webhook "([^"]{1,253})" denied/,
    explain: ([, name]) => ({
      cause: `admission webhook ${name} denies it`,
      suggestion: 'change the pod as the message says',
    }),
  },
  {
    text: /ValidatingAdmissionPolicy '([^']{1,253})'/,
    explain: ([, name]) => ({
      cause: `the policy ${name} denies it`,
      suggestion: 'change the pod as the message says',
    }),
  },
  {
    text: /serviceaccounts? "([^"]{1,253})" not found/,
    explain: ([, name], namespace) => ({
      cause: `service account ${name} does not exist`,
      suggestion: `create it: kubectl create serviceaccount ${name} -n ${namespace}`,
    }),
  },
  {
    text: /no PriorityClass with name ([^\s]{1,253})/i,
    explain: ([, name]) => ({
      cause: `priority class ${name} does not exist`,
      suggestion: 'create it, or use another one',
    }),
  },
  {
    text: /RuntimeClass "([^"]{1,253})" not found/i,
    explain: ([, name]) => ({
      cause: `runtime class ${name} does not exist`,
      suggestion: 'create it, or use another one',
    }),
  },
  {
    text: /(?:maximum|minimum) [\w. /-]{1,80} (?:usage|ratio|limit)/,
    explain: (_found, namespace) => ({
      cause: 'a LimitRange of the namespace forbids it',
      suggestion: `change the requests and limits of the pod: kubectl describe limitrange -n ${namespace}`,
    }),
  },
  {
    text: /because it is being terminated/,
    explain: (_found, namespace) => ({
      cause: `namespace ${namespace} is being deleted`,
      suggestion: 'use another namespace',
    }),
  },
];

/** Explains a message. Unknown messages are shown unchanged. */
export function explainRefusal(message: string, namespace: string): Refusal {
  for (const { text, explain } of known) {
    const found = text.exec(message);
    if (found !== null) return explain(found, namespace);
  }
  return { cause: 'the API server rejects its pods', suggestion: 'change the pod template as the error says' };
}
