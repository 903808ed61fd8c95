// Where in the bytes that an engine gives out rows of floats stand: which parts of a snapshot, a
// segment or a whole state a lossy codec may change.
//
// The layout is libllama's own and may change. It is read as libllama reads it, and unless every
// byte is accounted for, nothing is found: then there is nothing to lose either. What was read may
// still be wrong where a later libllama gives the same bytes another meaning, so before the rows
// are used ProveFloatRows tries them.
//
// FindFloatRows is a pure function; any thread. ProveFloatRows: the thread that owns the context.

#ifndef CAIRN_ENGINE_STATE_ROWS_H_
#define CAIRN_ENGINE_STATE_ROWS_H_

#include <vector>

#include "base/bytes.h"
#include "base/float_rows.h"
#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

// In order and apart from each other, those of f32 and f16. Empty: the bytes are not laid out as
// known, or hold no such rows. `state`: what TakeSnapshot, TakeSegment or TakeWhole gave, and
// nothing behind it.
std::vector<FloatRows> FindFloatRows(ByteSpan state);

// Reads a few tokens into the first sequence, changes every float that FindFloatRows names in its
// snapshot, its segment and its whole state, sets them back, and looks whether all of it, and
// nothing else, is there as it was set. To be asked once after loading, before a lossy codec is
// used. REQUIRES: no sequence holds anything, and a context of at least 24 tokens; so it is
// afterwards. kUnsupported: no rows were found, or they are not what they seem.
Status ProveFloatRows(Engine* engine);

}  // namespace cairn

#endif  // CAIRN_ENGINE_STATE_ROWS_H_
