// SHA-256 of the native files that set-up loads into our processes, for the platforms on which they were inspected. The
// lockfile already pins their package; this second pin detects a lockfile recreated with another build. The authors of
// uWebSockets.js, the HTTP parser, publish outside the registry: @uwsjs packages are builds by a third party.

/** By path under node_modules. @type {Record<string, string>} */
export const nativeChecksums = {
  '@uwsjs/linux-x64-22/uws.node': 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
};

/**
 * The npm packages with Node's official binaries in set-up's version, with the registry's sha512. On a platform that is
 * missing here Node is installed by version only, and set-up reports it.
 * @type {Record<string, string>} by platform and architecture
 */
export const nodeIntegrity = {
  'linux-x64': 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'linux-arm64': 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
};
