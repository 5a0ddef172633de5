# An SMSC that shares nothing with this project: Python's standard library, written from the text of SMPP 3.4 alone.
# It binds clients, decodes what they submit, answers, sends receipts as text or as TLVs, and prints what it saw as
# one JSON line each. Its first line has the port. It is no product: one thread per connection, no limits.
#
# Conduct by the last digit of the recipient: 1 a text receipt, 2 a TLV receipt, 3 none; 9 the submit is refused.
# `python3 smsc.py [--one-byte]`: with it every answer leaves one byte at a time. "unbind" on stdin unbinds all.
import json
import os
import socket
import struct
import sys
import threading

BIND = {0x1: 'receiver', 0x2: 'transmitter', 0x9: 'transceiver'}
GSM7 = ('@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?'
        '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà')
GSM7_ESCAPED = {10: '\f', 20: '^', 40: '{', 41: '}', 47: '\\', 60: '[', 61: '~', 62: ']', 64: '|', 101: '€'}

output = threading.Lock()
sessions = []


def report(**seen):
    with output:
        print(json.dumps(seen), flush=True)


class Body:
    """Reads the fields of a PDU body in order."""

    def __init__(self, octets):
        self.octets, self.at = octets, 0

    def byte(self):
        self.at += 1
        return self.octets[self.at - 1]

    def text(self):
        end = self.octets.index(0, self.at)
        value = self.octets[self.at:end].decode('latin-1')
        self.at = end + 1
        return value

    def take(self, count):
        assert self.at + count <= len(self.octets), 'a field runs out of its PDU'
        self.at += count
        return self.octets[self.at - count:self.at]

    def tlvs(self):
        found = {}
        while self.at < len(self.octets):
            tag, length = struct.unpack('>HH', self.take(4))
            found[tag] = self.take(length)
        return found


def septets_of(octets, fill):
    bits = int.from_bytes(octets, 'little') >> fill
    count = (len(octets) * 8 - fill) // 7
    septets = [(bits >> (7 * index)) & 0x7f for index in range(count)]
    if (fill + count * 7) % 8 == 0 and septets and septets[-1] == 13:
        septets.pop()
    return septets


def gsm7(septets):
    text, escaped = '', False
    for septet in septets:
        if escaped:
            text += GSM7_ESCAPED[septet]
            escaped = False
        elif septet == 0x1b:
            escaped = True
        else:
            text += GSM7[septet]
    return text


def decode(octets, coding, header, packed):
    if coding in (0, 1, 0xf1):
        if packed:
            return gsm7(septets_of(octets, (7 - header * 8 % 7) % 7))
        assert all(octet < 0x80 for octet in octets), 'a septet has eight bits'
        return gsm7(octets)
    return octets.decode({3: 'latin-1', 8: 'utf-16-be'}[coding])


def user_data_header(octets):
    """The concatenation in the header, and how many octets the header takes."""
    length, at, parts = octets[0] + 1, 1, None
    while at < length:
        element, size = octets[at], octets[at + 1]
        value = octets[at + 2:at + 2 + size]
        if element == 0:
            parts = list(struct.unpack('>BBB', value))
        elif element == 8:
            parts = list(struct.unpack('>HBB', value))
        at += 2 + size
    assert at == length, 'the user data header is not as long as it says'
    return parts, length


class Session(threading.Thread):
    count = 0

    def __init__(self, connection, one_byte):
        super().__init__(daemon=True)
        self.connection, self.one_byte = connection, one_byte
        self.sequence, self.packed, self.lock = 0, False, threading.Lock()

    def send(self, command, status, sequence, body=b''):
        octets = struct.pack('>IIII', 16 + len(body), command, status, sequence) + body
        with self.lock:
            if self.one_byte:
                for octet in octets:
                    self.connection.sendall(bytes([octet]))
            else:
                self.connection.sendall(octets)

    def read(self, count):
        octets = b''
        while len(octets) < count:
            more = self.connection.recv(count - len(octets))
            if not more:
                raise EOFError
            octets += more
        return octets

    def run(self):
        try:
            while True:
                length, command, status, sequence = struct.unpack('>IIII', self.read(16))
                assert 16 <= length <= 65536, 'the length of a PDU makes no sense'
                self.on_pdu(command, status, sequence, self.read(length - 16))
        except (EOFError, OSError) as error:
            ended = dict(kind='closed', why=type(error).__name__)
        except Exception as error:
            ended = dict(kind='failed', why=repr(error))
        if self in sessions:
            sessions.remove(self)
        self.connection.close()
        report(**ended)

    def on_pdu(self, command, status, sequence, octets):
        body = Body(octets)
        if command in BIND:
            return self.on_bind(command, sequence, body)
        if command == 0x4:
            return self.on_submit(sequence, body)
        if command == 0x3:
            message, ton, npi, source = body.text(), body.byte(), body.byte(), body.text()
            report(kind='query', id=message, ton=ton, npi=npi, source=source)
            return self.send(0x80000003, 0, sequence, message.encode() + b'\0\0' + bytes([2, 0]))
        if command == 0x8:
            seen = dict(service_type=body.text(), id=body.text(), ton=body.byte(), npi=body.byte(), source=body.text(),
                        dest_ton=body.byte(), dest_npi=body.byte(), destination=body.text())
            assert body.at == len(body.octets), 'something follows the fields of a cancel_sm'
            report(kind='cancel', **seen)
            return self.send(0x80000008, 0 if seen['id'] != 'nobody' else 0x11, sequence)
        if command == 0x15:
            report(kind='enquire_link')
            return self.send(0x80000015, 0, sequence)
        if command == 0x80000005:
            return report(kind='receipt_answered', status=status, sequence=sequence)
        if command == 0x6:
            report(kind='unbind')
            self.send(0x80000006, 0, sequence)
            raise EOFError
        if command == 0x80000006:
            report(kind='unbind_answered')
            raise EOFError
        if command < 0x80000000:
            self.send(0x80000000, 3, sequence)

    def on_bind(self, command, sequence, body):
        seen = dict(system_id=body.text(), password=body.text(), system_type=body.text(), interface_version=body.byte(),
                    ton=body.byte(), npi=body.byte(), address_range=body.text())
        assert body.at == len(body.octets), 'something follows the fields of a bind'
        report(kind='bind', type=BIND[command], **seen)
        if seen['password'] != 'secret':
            return self.send(command | 0x80000000, 0x0e, sequence)
        # system_type says how this client's contract has its septets.
        self.packed = seen['system_type'] == 'PACKED'
        name = b'independent\0'
        version = struct.pack('>HHB', 0x0210, 1, 0x34) if seen['interface_version'] >= 0x34 else b''
        self.send(command | 0x80000000, 0, sequence, name + version)
        sessions.append(self)

    def on_submit(self, sequence, body):
        service = body.text()
        source = [body.byte(), body.byte(), body.text()]
        destination = [body.byte(), body.byte(), body.text()]
        esm, protocol, priority = body.byte(), body.byte(), body.byte()
        schedule, validity = body.text(), body.text()
        registered, replace, coding, default_id = body.byte(), body.byte(), body.byte(), body.byte()
        short = body.take(body.byte())
        tlvs = body.tlvs()
        assert not (short and 0x0424 in tlvs), 'short_message and message_payload at once'
        octets = tlvs.pop(0x0424, short)
        parts, header = user_data_header(octets) if esm & 0x40 else (None, 0)
        if 0x020c in tlvs:
            reference, total, part = (int.from_bytes(tlvs.pop(tag), 'big') for tag in (0x020c, 0x020e, 0x020f))
            parts = [reference, total, part]
        text = decode(octets[header:], coding, header, self.packed)
        Session.count += 1
        number = Session.count
        report(kind='submit', id=number, service=service, source=source, destination=destination, esm=esm, protocol=protocol,
             priority=priority, schedule=schedule, validity=validity, registered=registered, replace=replace,
             coding=coding, default_id=default_id, octets=len(octets), parts=parts, text=text,
             tlvs={'%04x' % tag: value.hex() for tag, value in tlvs.items()})
        conduct = destination[2][-1]
        if conduct == '9':
            return self.send(0x80000004, 0x0b, sequence)
        self.send(0x80000004, 0, sequence, b'%08X\0' % number)
        if registered & 1 and conduct in '12':
            self.receipt(number, source, destination, conduct == '2')

    def receipt(self, number, source, destination, as_tlvs):
        tlvs, text = b'', b''
        if as_tlvs:
            name = b'%08X\0' % number
            tlvs = struct.pack('>HH', 0x001e, len(name)) + name + struct.pack('>HHB', 0x0427, 1, 2)
        else:
            text = (b'id:%08X sub:001 dlvrd:001 submit date:2611200600 done date:2611200601 stat:DELIVRD err:000 text:'
                    % number)
        self.sequence += 1
        address = [bytes([ton, npi]) + text.encode('latin-1') + b'\0' for ton, npi, text in (destination, source)]
        self.send(0x5, 0, self.sequence, b'\0' + address[0] + address[1] + bytes([0x04, 0, 0]) + b'\0\0'
                  + bytes([0, 0, 0, 0, len(text)]) + text + tlvs)

    def unbind(self):
        self.sequence += 1
        self.send(0x6, 0, self.sequence)


def commands():
    for line in sys.stdin:
        if line.strip() == 'unbind':
            for session in list(sessions):
                session.unbind()
    # No reader of our output is left: the test has closed our input.
    os._exit(0)


def main():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', 0))
    listener.listen(16)
    threading.Thread(target=commands, daemon=True).start()
    report(kind='listening', port=listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Session(connection, '--one-byte' in sys.argv).start()


main()
