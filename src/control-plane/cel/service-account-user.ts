/** The groups of every service account of a namespace. */
export const serviceAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];
