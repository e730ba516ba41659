/** The real binder, for the tests of provisioners, which work beside it. */
export { createPersistentVolumeController as createVolumeBinder } from '../persistent-volume-controller.ts';
