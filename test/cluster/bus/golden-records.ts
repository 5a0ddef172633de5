// Records as version 1 wrote them, frozen: a later version must still read them, because records of the version
// before wait in the streams while a cluster is upgraded. Never write these anew; add the next version's beside them.
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import type { AccountId, ApiKeyId, MessageId } from '../../../model/ids.ts';
import type { Message } from '../../../model/message.ts';
import { noShift } from '../../../model/text/national-languages.ts';

export const goldenMessage: Message = {
  messageId: 'sms_01JXT21Q003XC5EN4S474RBYJA' as MessageId,
  hop: 1,
  delays: 2,
  accountId: 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId,
  keyId: 'key_01JABCDEFGHJKMNPQRSTVWXYZ0' as ApiKeyId,
  channel: 'sms',
  category: 'otp',
  carrier: 'alpha',
  plan: [],
  sender: 'HELIO',
  senderTonNpi: { ton: 5, npi: 0 },
  recipient: '+8801712345678',
  recipientTonNpi: null,
  body: { text: 'আপনার কোড 4711' },
  encoding: 'ucs2',
  // The record ends before this field: its default.
  shift: noShift,
  segments: 1,
  registeredDelivery: 1,
  acceptedAtMs: 1_750_000_000_000,
  validUntilMs: 1_750_000_300_000,
  scheduledAtMs: null,
  clientReference: 'order-42',
  campaignId: 'cmp_1',
  variantId: 'B',
  templateId: 'tpl_1',
  livemode: false,
  priceMicros: 350_000,
  priceVersion: 3,
  trace: ['prefix 17 -> alpha', 'alpha: healthy'],
};

/** With the fields of the plan, of scheduling and of national tables: the record ends behind these. */
export const goldenNationalMessage: Message = {
  ...goldenMessage,
  plan: ['beta', 'gamma'],
  body: { text: `Ödemeniz alındı, şifreniz 4711: ${'ığş'.repeat(20)}` },
  encoding: 'gsm7',
  shift: { locking: 1, single: 0 },
  scheduledAtMs: 1_750_000_060_000,
};

export const goldenEvents: readonly DeliveryEvent[] = [
  eventOfMessage(goldenMessage, { kind: 'intent', atMs: 1_750_000_000_004, attempt: 33 }),
  eventOfMessage(goldenMessage, {
    kind: 'submitted',
    atMs: 1_750_000_000_012,
    attempt: 33,
    segment: 1,
    carrierMessageId: '00ABCDEF12',
    epoch: 9,
  }),
  eventOfMessage(goldenMessage, {
    kind: 'undelivered',
    atMs: 1_750_000_001_000,
    attempt: 33,
    segment: 1,
    error: '027',
  }),
];

export const goldenMessageHex =
  'dc001b01be736d735f30314a5854323151303033584335454e34533437345242594a410102be6163635f30314a4142434445' +
  '4647484a4b4d4e5051525354565758595a30be6b65795f30314a41424344454647484a4b4d4e5051525354565758595a30a3' +
  '736d7300a5616c706861a548454c494fcd0500ae2b38383031373132333435363738c0c43bab64e49e3db0a3796cb4573993' +
  'aaddb564546b76f8bc871c1b6d1fa9de7963ddefb1fe6cf9f2a79486782255d7fafcb1560ae252ba8802a6b50c64a4756373' +
  '320101cb427977420dc00000cb4279774256fe0000a86f726465722d3432a5636d705f31a142a574706c5f31c2ce00055730' +
  '0392b2707265666978203137202d3e20616c706861ae616c7068613a206865616c746879';

export const goldenNationalMessageHex =
  'dc001e01be736d735f30314a5854323151303033584335454e34533437345242594a410102be6163635f30314a4142434445' +
  '4647484a4b4d4e5051525354565758595a30be6b65795f30314a41424344454647484a4b4d4e5051525354565758595a30a3' +
  '736d7300a5616c706861a548454c494fcd0500ae2b38383031373132333435363738c0c4b9b0ca6119444b3b5612485a567c' +
  '36103bbd6b54a9a3bb40756ef78d071df1fffae302478019c9220be03757e9876374b5a34e394a63c973ac91e82f7bff91a8' +
  'f2841204574c9ddd20c88cc2692f89087e1beac56000139a3d61e235cab104855087169a718e47284688320665c0d5086578' +
  'f662cfe5394f091fee996bec3af5a8e4a860d4a4ccaf7adcd56156b3981861133ed35a08db717f714980857d911328eb27ae' +
  '53d797b4b5ed87f4ce579363e96c8c286536f18f4660a467736d370101cb427977420dc00000cb4279774256fe0000a86f72' +
  '6465722d3432a5636d705f31a142a574706c5f31c2ce000557300392b2707265666978203137202d3e20616c706861ae616c' +
  '7068613a206865616c74687992a462657461a567616d6d61cb427977421c660000cd0100';

export const goldenEventsHex =
  '920193dc0019ba6576745f456466666549635436446776704434307a6b77415f6f02cb427977420dc04000be736d735f3031' +
  '4a5854323151303033584335454e34533437345242594a41be6163635f30314a41424344454647484a4b4d4e505152535456' +
  '5758595a30be6b65795f30314a41424344454647484a4b4d4e5051525354565758595a30a5616c70686101210001c0c00000' +
  'a548454c494fae2b38383031373132333435363738c3c2a86f726465722d3432a5636d705f31a142a574706c5f31cb427977' +
  '420dc00000cb4279774256fe0000dc0019ba6576745f472d39777273773765476162413372342d746762375403cb42797742' +
  '0dc0c000be736d735f30314a5854323151303033584335454e34533437345242594a41be6163635f30314a41424344454647' +
  '484a4b4d4e5051525354565758595a30be6b65795f30314a41424344454647484a4b4d4e5051525354565758595a30a5616c' +
  '70686101210101aa30304142434445463132c00900a548454c494fae2b38383031373132333435363738c3c2a86f72646572' +
  '2d3432a5636d705f31a142a574706c5f31cb427977420dc00000cb4279774256fe0000dc0019ba6576745f324e4c38616679' +
  '783772476c556d352d44766e466b7605cb427977420dfe8000be736d735f30314a5854323151303033584335454e34533437' +
  '345242594a41be6163635f30314a41424344454647484a4b4d4e5051525354565758595a30be6b65795f30314a4142434445' +
  '4647484a4b4d4e5051525354565758595a30a5616c70686101210101c0a33032370000a548454c494fae2b38383031373132' +
  '333435363738c3c2a86f726465722d3432a5636d705f31a142a574706c5f31cb427977420dc00000cb4279774256fe0000';
