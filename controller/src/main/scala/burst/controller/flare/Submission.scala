package burst.controller.flare

import burst.protocol.FlareId
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import org.apache.pekko.util.ByteString

/** By what a request is known that is sent again: the key its client gave it, and a digest of what it asked
  * for, so that a key that was given twice by mistake does not pass another flare off as the one asked for.
  */
final case class Submission(key: String, digest: String)

object Submission:
  /** @param target
    *   what it was asked of
    */
  def of(key: String, target: String, body: ByteString): Submission =
    val digest = MessageDigest.getInstance("SHA-256")
    digest.update(target.getBytes(UTF_8))
    // Which no target has in it.
    digest.update(0: Byte)
    body.asByteBuffers.foreach(digest.update)
    Submission(key, HexFormat.of.formatHex(digest.digest))

/** What was begun by a key, and the digest of what was asked for. */
final case class Submitted(id: FlareId, digest: String)
