// Replaces the real ingress in tests of the supervisor.
import './plain.ts';
