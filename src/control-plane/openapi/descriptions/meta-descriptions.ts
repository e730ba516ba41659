import type { Descriptions } from './types.ts';

/** Types of meta/v1 and scalars. */
export const metaDescriptions: Descriptions = {
  ObjectMeta: {
    '': 'What all objects have: names, labels, owners and the traces of their life.',
    name: 'Unique among the objects of one kind in one namespace. Cannot be changed.',
    namespace: 'The space that the name is unique in. Empty for kinds that are in no namespace. Cannot be changed.',
    uid: 'Told apart from all objects there ever were, also from earlier ones of the same name. Set by the API server.',
    generateName: 'The beginning of a name that the API server completes with random letters when there is no `name`.',
    selfLink: 'Out of use, always empty.',
    resourceVersion:
      'Changes with every write. A writer who sends it back is refused when somebody else wrote in between. To be compared for equality only.',
    generation: 'Counts the changes of what is wanted. Set by the API server.',
    creationTimestamp: 'When the object was created. Set by the API server.',
    deletionTimestamp:
      'When the object is to be gone; present once its deletion was asked for. It goes when its finalizers are empty and its grace is over.',
    deletionGracePeriodSeconds:
      'How long the object has to end in order, in seconds. Set together with `deletionTimestamp`.',
    labels: 'Short texts by key that selectors find the object by.',
    annotations: 'Texts by key that tools keep with the object. Nothing is found by them.',
    ownerReferences:
      'What this object exists for: it is deleted when all of these are gone. At most one of them is its controller.',
    finalizers: 'What must be done before the object may go; whoever does it takes the entry away.',
    managedFields: 'Who set which fields, for server-side apply. Kept by the API server.',
  },
  ListMeta: {
    '': 'What all lists have.',
    selfLink: 'Out of use, always empty.',
    resourceVersion: 'How new the list is; a watch may begin here.',
    continue: 'Set when there is more: to be sent with the next request as `continue`.',
    remainingItemCount: 'How many objects come after this page, where that is known.',
  },
  OwnerReference: {
    '': 'An object that another one exists for; in the same namespace or in none.',
    apiVersion: 'Group and version of the owner.',
    kind: 'The kind of the owner.',
    name: 'The name of the owner.',
    uid: 'The uid of the owner: another object of the same name does not count.',
    controller: 'Whether the owner is the one that manages this object.',
    blockOwnerDeletion: 'When the owner is deleted in the foreground, it waits for this object to be gone.',
  },
  LabelSelector: {
    '': 'Chooses objects by their labels; all conditions must hold. An empty selector chooses everything, none at all nothing.',
    matchLabels: 'Labels with exactly these values.',
    matchExpressions: 'Conditions on labels.',
  },
  LabelSelectorRequirement: {
    '': 'A condition on one label.',
    key: 'The key of the label.',
    operator: 'One of In, NotIn, Exists and DoesNotExist.',
    values: 'For In and NotIn, the values in question; otherwise empty.',
  },
  ManagedFieldsEntry: {
    '': 'The fields that one manager set with one kind of request.',
    manager: 'Who it was.',
    operation: 'Apply or Update.',
    apiVersion: 'The version in which the fields are named.',
    time: 'When the set of fields last changed.',
    fieldsType: 'The form of `fieldsV1`; always FieldsV1.',
    fieldsV1: 'The fields, as a tree.',
    subresource: 'The subresource the request was for; empty for the object itself.',
  },
  Condition: {
    '': 'One thing that is so, is not so, or is not known.',
    type: 'What the condition is about.',
    status: 'True, False or Unknown.',
    observedGeneration: 'The `metadata.generation` that the condition was found for.',
    lastTransitionTime: 'When the status last changed.',
    reason: 'Why, as one word for programs.',
    message: 'Why, for people.',
  },
  DeleteOptions: {
    '': 'How something is to be deleted.',
    gracePeriodSeconds: 'How many seconds the object has to end in order; 0 means at once.',
    preconditions: 'What must be so, or nothing is deleted.',
    orphanDependents: 'Out of date: use propagationPolicy.',
    propagationPolicy:
      'What becomes of dependents: Orphan leaves them, Background deletes them afterwards, Foreground before.',
    dryRun: 'With All, everything happens but nothing is stored.',
  },
  Preconditions: {
    '': 'What must be so before a deletion.',
    uid: 'The uid of the object.',
    resourceVersion: 'The version of the object.',
  },
  Status: {
    '': 'The answer of the API where it is not an object.',
    status: 'Success or Failure.',
    message: 'What happened, for people.',
    reason: 'What happened, as one word for programs.',
    details: 'More about the failure, as its reason has it.',
    code: 'The HTTP status.',
  },
  StatusDetails: {
    '': 'What a failure was about.',
    name: 'The object.',
    group: 'The group of its kind.',
    kind: 'Its resource.',
    uid: 'Its uid.',
    causes: 'The single faults.',
    retryAfterSeconds: 'When it may be worth trying again, in seconds.',
  },
  StatusCause: {
    '': 'One of the faults behind a failure.',
    reason: 'As one word for programs.',
    message: 'For people.',
    field: 'The field, where there is one, as in `spec.containers[0].name`.',
  },
  Time: { '': 'A moment, as RFC 3339 writes it, to the second.' },
  MicroTime: { '': 'A moment, as RFC 3339 writes it, to the microsecond.' },
  Duration: { '': 'A length of time such as 1h30m or 300ms.' },
  FieldsV1: {
    '': 'A set of fields as a tree: keys are f:NAME for fields, k:KEYS and v:VALUE for elements of lists, and "." for the element itself.',
  },
  Patch: { '': 'A patch in one of the forms that the media type names.' },
  IntOrString: { '': 'A number or a text; which one is allowed where is said there.' },
  Quantity: {
    '': 'An amount such as 500m, 1.5 or 2Gi: a number with an SI suffix (m, k, M, G, ...), a binary one (Ki, Mi, Gi, ...) or a decimal exponent.',
  },
  RawExtension: { '': 'Any object, kept as it came.' },
};

/** For fields that mean the same wherever they are, of types that do not say more. */
export const commonDescriptions: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version that this object is written in.',
  kind: 'What kind of object this is.',
  metadata: 'Names, labels, owners and the like.',
  spec: 'What is wanted.',
  status: 'What is, as last observed. Written by the system.',
  items: 'The objects.',
};
