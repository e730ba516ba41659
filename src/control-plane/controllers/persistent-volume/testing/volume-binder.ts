/** The real controller, for tests of provisioners. */
export { createPersistentVolumeController as createVolumeBinder } from '../persistent-volume-controller.ts';
