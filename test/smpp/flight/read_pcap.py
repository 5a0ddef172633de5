"""Reads a capture of SMPP sessions and prints what is in it as JSON. It shares no code with what wrote it.

It believes nothing: lengths, checksums, the order of sequence numbers and acknowledgements are checked, each side's
octets are put together as a receiver would, and every PDU is taken apart to its last octet. What is wrong ends it.
"""
import json
import struct
import sys

SYN, FIN, ACK = 0x02, 0x01, 0x10


def checksum(octets):
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack("!%dH" % (len(octets) // 2), octets))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packets(data):
    magic, major, minor, _, _, snap, link = struct.unpack("<IHHiIII", data[:24])
    assert (magic, major, minor, link) == (0xA1B2C3D4, 2, 4, 101), "no classic pcap of raw IP"
    at = 24
    while at < len(data):
        seconds, micros, kept, length = struct.unpack("<IIII", data[at : at + 16])
        assert kept == length <= snap and micros < 1_000_000 and at + 16 + kept <= len(data), "a packet is cut"
        yield seconds + micros / 1e6, data[at + 16 : at + 16 + kept]
        at += 16 + kept


def ip(packet):
    if packet[0] >> 4 == 4:
        assert packet[0] & 15 == 5 and packet[9] == 6 and struct.unpack("!H", packet[2:4])[0] == len(packet)
        assert checksum(packet[:20]) == 0xFFFF, "IPv4 checksum"
        source, target, rest = packet[12:16], packet[16:20], packet[20:]
        name = lambda octets: ".".join(str(each) for each in octets)
    else:
        assert packet[0] >> 4 == 6 and packet[6] == 6 and struct.unpack("!H", packet[4:6])[0] == len(packet) - 40
        source, target, rest = packet[8:24], packet[24:40], packet[40:]
        name = lambda octets: ":".join("%x" % each for each in struct.unpack("!8H", octets))
    pseudo = source + target + struct.pack("!II", len(rest), 6)
    assert checksum(pseudo + rest) == 0xFFFF, "TCP checksum"
    return name(source), name(target), rest


COMMANDS = {
    1: "bind_receiver", 2: "bind_transmitter", 3: "query_sm", 4: "submit_sm", 5: "deliver_sm", 6: "unbind",
    9: "bind_transceiver", 0x15: "enquire_link", 0x103: "data_sm",
}


class Body:
    def __init__(self, octets):
        self.octets, self.at = octets, 0

    def text(self):
        stop = self.octets.index(0, self.at)
        value = self.octets[self.at : stop].decode("latin1")
        self.at = stop + 1
        return value

    def octet(self):
        self.at += 1
        return self.octets[self.at - 1]

    def take(self, count):
        assert self.at + count <= len(self.octets), "a field runs out of its PDU"
        self.at += count
        return self.octets[self.at - count : self.at]

    def tlvs(self):
        found = {}
        while self.at < len(self.octets):
            tag, size = struct.unpack("!HH", self.take(4))
            found["%04x" % tag] = self.take(size).hex()
        return found


def message(body):
    fields = {"service_type": body.text(), "source_ton": body.octet(), "source_npi": body.octet()}
    fields["source"] = body.text()
    fields["destination_ton"], fields["destination_npi"] = body.octet(), body.octet()
    fields["destination"] = body.text()
    fields["esm_class"], fields["protocol_id"], fields["priority"] = body.octet(), body.octet(), body.octet()
    fields["schedule"], fields["validity"] = body.text(), body.text()
    fields["registered"], fields["replace"] = body.octet(), body.octet()
    fields["data_coding"], fields["default_id"] = body.octet(), body.octet()
    fields["short_message"] = body.take(body.octet()).hex()
    return fields


def pdu(octets):
    length, command, status, sequence = struct.unpack("!IIII", octets[:16])
    assert length == len(octets)
    name = COMMANDS.get(command & 0x7FFFFFFF, "unknown") + ("_resp" if command >> 31 else "")
    body = Body(octets[16:])
    fields = {"command": name, "status": status, "sequence": sequence, "length": length}
    if name in ("submit_sm", "deliver_sm"):
        fields.update(message(body))
    elif name.startswith("bind") and not name.endswith("_resp"):
        fields["system_id"], fields["password"], fields["system_type"] = body.text(), body.text(), body.text()
        fields["interface_version"], fields["ton"], fields["npi"] = body.octet(), body.octet(), body.octet()
        fields["range"] = body.text()
    elif name in ("submit_sm_resp", "deliver_sm_resp") and status == 0:
        fields["message_id"] = body.text()
    elif name.startswith("bind") and status == 0:
        fields["system_id"] = body.text()
    fields["tlvs"] = body.tlvs()
    return fields


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    expected, streams, open_lines, fields, count, last = {}, {}, [], [], 0, 0.0
    closings = 0
    for at, packet in packets(data):
        count += 1
        assert at >= last, "time goes back"
        last = at
        source, target, tcp = ip(packet)
        source_port, target_port, number, acknowledged, offset, flags = struct.unpack("!HHIIBB", tcp[:14])
        assert offset == 0x50
        here, there = (source, source_port), (target, target_port)
        octets = tcp[20:]
        if flags & SYN and not flags & ACK:
            for key in ((here, there), (there, here)):
                expected.pop(key, None)
                streams.pop(key, None)
            open_lines.append([*here, *there])
        assert expected.setdefault((here, there), number) == number, "octets are missing or come twice"
        if flags & ACK and (there, here) in expected:
            assert acknowledged == expected[(there, here)], "acknowledges what was not sent"
        expected[(here, there)] = number + len(octets) + (1 if flags & (SYN | FIN) else 0)
        closings += 1 if flags & FIN else 0
        stream = streams.get((here, there), b"") + octets
        while len(stream) >= 4 and len(stream) >= struct.unpack("!I", stream[:4])[0]:
            size = struct.unpack("!I", stream[:4])[0]
            assert size >= 16
            fields.append({"at": at, "from": list(here), "to": list(there), **pdu(stream[:size])})
            stream = stream[size:]
        streams[(here, there)] = stream
    assert not any(streams.values()), "a PDU is cut"
    print(json.dumps({"packets": count, "lines": open_lines, "closings": closings, "pdus": fields}))


main()
