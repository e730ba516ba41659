/**
 * Upstream's plugins in the order in which they run (kubeapiserver/options AllOrderedPlugins), and whether each is on
 * by default.
 */
export interface KnownPlugin {
  readonly name: string;
  readonly isOn: boolean;
  /** `absent`: not implemented. Enabling it is an error, disabling it is allowed. */
  readonly state: 'here' | 'absent';
}

const on = (name: string): KnownPlugin => ({ name, isOn: true, state: 'here' });
const off = (name: string): KnownPlugin => ({ name, isOn: false, state: 'here' });
const absent = (name: string): KnownPlugin => ({ name, isOn: false, state: 'absent' });

export const knownPlugins: readonly KnownPlugin[] = [
  off('AlwaysAdmit'),
  absent('NamespaceAutoProvision'),
  on('NamespaceLifecycle'),
  off('NamespaceExists'),
  off('LimitPodHardAntiAffinityTopology'),
  on('LimitRanger'),
  on('ServiceAccount'),
  on('NodeRestriction'),
  on('TaintNodesByCondition'),
  off('AlwaysPullImages'),
  absent('ImagePolicyWebhook'),
  on('PodSecurity'),
  absent('PodNodeSelector'),
  on('Priority'),
  on('DefaultTolerationSeconds'),
  absent('PodTolerationRestriction'),
  off('EventRateLimit'),
  off('ExtendedResourceToleration'),
  on('DefaultStorageClass'),
  on('StorageObjectInUseProtection'),
  absent('PodGroupProtection'),
  absent('OwnerReferencesPermissionEnforcement'),
  on('PersistentVolumeClaimResize'),
  on('RuntimeClass'),
  on('CertificateApproval'),
  on('CertificateSigning'),
  on('ClusterTrustBundleAttest'),
  on('CertificateSubjectRestriction'),
  on('CertificateRequestSignature'),
  on('PodCertificateContents'),
  on('DefaultIngressClass'),
  off('DenyServiceExternalIPs'),
  absent('PodTopologyLabels'),
  absent('PodGroupWorkloadExists'),
  absent('NodeDeclaredFeatureValidator'),
  absent('JobValidation'),
  on('PodResizeValidator'),
  on('RBACEscalation'),
  on('MutatingAdmissionPolicy'),
  on('MutatingAdmissionWebhook'),
  // Part of upstream until 1.13, at this position.
  off('Initializers'),
  on('ValidatingAdmissionPolicy'),
  on('ValidatingAdmissionWebhook'),
  on('ResourceQuota'),
  off('AlwaysDeny'),
];

/** The errors of `--enable-admission-plugins` and `--disable-admission-plugins`, with upstream's messages. */
export function pluginFlagProblems(enabled: readonly string[], disabled: readonly string[]): readonly string[] {
  const find = (name: string): KnownPlugin | undefined => knownPlugins.find((each) => each.name === name);
  const both = enabled.filter((name) => disabled.includes(name)).sort();
  return [
    ...enabled
      .filter((name) => find(name) === undefined)
      .map((name) => `enable-admission-plugins plugin ${JSON.stringify(name)} is unknown`),
    ...enabled
      .filter((name) => find(name)?.state === 'absent')
      .map((name) => `enable-admission-plugins plugin ${JSON.stringify(name)} is not part of this API server`),
    ...disabled
      .filter((name) => find(name) === undefined)
      .map((name) => `disable-admission-plugins plugin ${JSON.stringify(name)} is unknown`),
    ...(both.length > 0
      ? [`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`]
      : []),
  ];
}

/** The names of the enabled plugins, in order. */
export function pluginsThatAreOn(enabled: readonly string[], disabled: readonly string[]): readonly string[] {
  return knownPlugins
    .filter(
      ({ name, isOn, state }) => state === 'here' && (enabled.includes(name) || (isOn && !disabled.includes(name))),
    )
    .map(({ name }) => name);
}
