// The official nats-server release that set-up installs, with the checksums that the NATS project pins in its container
// files. For other platforms the checksum is from the release's SHA256SUMS.
export const releaseVersion = '2.12.15';

/** @type {Record<string, string>} SHA-256 of nats-server-v<version>-<platform>-<arch>.tar.gz */
export const pinnedChecksums = {
  'linux-amd64': '58ab8131f819263897e2fc38e503e1b755b63bcafeecc7d12582487df48ca15e',
  'linux-arm64': 'b724db99fefbf8f5c808baa82819ee50350aee9734017e4a478f7e545cef3ab6',
  'linux-arm7': '72311fe4e14ce3ce22dc8e7ac02633e6f31a9bab4086c92a31fd040e59683c8a',
  'linux-s390x': '5db960be875da499f1354f41c0a7780303fb9644cf62d35022677e77b4178029',
  'linux-ppc64le': '56447e72ec0551fa27a4368388dee475e028d4d5de6d97a802d944c6f278cf1e',
};
