/** Labels by which a job identifies its pods (upstream: batch/v1 types.go and its legacy forms). */
export const jobLabels = {
  controllerUid: 'batch.kubernetes.io/controller-uid',
  jobName: 'batch.kubernetes.io/job-name',
  oldControllerUid: 'controller-uid',
  oldJobName: 'job-name',
} as const;
