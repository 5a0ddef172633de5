// By default fast-check makes texts and lists of ten at the most, whatever `maxLength` says: long messages would never
// be tried. With this, a given length is used.
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), defaultSizeToMaxWhenMaxSpecified: true });
