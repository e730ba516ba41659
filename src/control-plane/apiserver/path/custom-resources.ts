import { jsonReply } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { RequestInfo } from './request-info.ts';

/**
 * The list of custom resource definitions, of which there are none; undefined for any other request. The kind is not
 * served, and discovery does not name it. But kubectl lists it whenever it meets a kind that the documents of OpenAPI
 * lack, and if that fails, that failure is all it tells its user.
 */
export function noCustomResources({
  verb,
  group,
  version,
  resource,
  subresource,
  namespace,
}: RequestInfo): Reply | undefined {
  if (
    verb !== 'list' ||
    group !== 'apiextensions.k8s.io' ||
    version !== 'v1' ||
    resource !== 'customresourcedefinitions' ||
    subresource !== '' ||
    namespace !== ''
  )
    return undefined;
  return jsonReply(
    200,
    `${JSON.stringify({ kind: 'CustomResourceDefinitionList', apiVersion: 'apiextensions.k8s.io/v1', metadata: { resourceVersion: '1' }, items: [] })}\n`,
  );
}
