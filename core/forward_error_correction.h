#pragma once

// What Reed-Solomon forward error correction makes of bit errors on links of 50 Gb/s and more a
// lane: RS(544,514) over symbols of 10 bits, which corrects up to 15 of the 544 symbols of a
// codeword [IEEE 802.3bs, clause 119; InfiniBand HDR and later have the same].

namespace gradhaul {

// How often a codeword is beyond it, bit errors being independent of each other.
double codeword_error_rate(double bit_error_rate);

// The rate of independent bit errors that would lose as many packets as such codewords do. A
// codeword that cannot be corrected takes all of its 5140 bits with it.
double rate_after_fec(double bit_error_rate);

}  // namespace gradhaul
