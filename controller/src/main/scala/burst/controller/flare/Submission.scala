package burst.controller.flare

import burst.protocol.FlareId
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import org.apache.pekko.util.ByteString

/** Identifies a request that may be sent again: the key that its client gave it, and a digest of its
  * contents, so that if a key is used twice by mistake, another flare does not pass for the requested one.
  */
final case class Submission(key: String, digest: String)

object Submission:
  /** @param target
    *   the path that was requested
    */
  def of(key: String, target: String, body: ByteString): Submission =
    val digest = MessageDigest.getInstance("SHA-256")
    digest.update(target.getBytes(UTF_8))
    // A byte that occurs in no target.
    digest.update(0: Byte)
    body.asByteBuffers.foreach(digest.update)
    Submission(key, HexFormat.of.formatHex(digest.digest))

/** The flare that was submitted with a key, and the digest of its request. */
final case class Submitted(id: FlareId, digest: String)
