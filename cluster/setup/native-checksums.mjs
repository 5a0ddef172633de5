// SHA-256 of native files that set-up loads into our processes, for the platforms they were looked at on. The lockfile
// already pins the package they come in; this second pin notices a lockfile that was recreated with another build.
// uWebSockets.js is the HTTP parser: its authors publish outside the registry, @uwsjs packages are builds by a third
// party.

/** By path under node_modules. @type {Record<string, string>} */
export const nativeChecksums = {
  '@uwsjs/linux-x64-22/uws.node': 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
};

/**
 * The npm packages that carry Node's official binaries for the version set-up takes, with the registry's sha512.
 * A platform that is missing here is installed by version only, and set-up says so.
 * @type {Record<string, string>} by platform and architecture
 */
export const nodeIntegrity = {
  'linux-x64': 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'linux-arm64': 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
};
