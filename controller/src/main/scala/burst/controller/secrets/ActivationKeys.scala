package burst.controller.secrets

import burst.protocol.Timestamp
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import scala.util.Try

/** Keys that programs receive, which open their caller's namespace as its own key does, until a time encoded
  * in them: they are signed, so that nobody has to store them. The signature covers the credentials they
  * belong to; once those are replaced or revoked, the keys open nothing. Without a secrets key, a controller
  * issues none.
  */
final class ActivationKeys(key: Option[SecretsKey]):
  import ActivationKeys.*

  private val signing = key.map(_.derived("activation keys"))

  /** Makes a key, to be used after `uuid:`. */
  def make(uuid: String, until: Timestamp): Option[String] = signing.map: secret =>
    val time = HexFormat.of.toHexDigits(until.millis)
    time + sign(secret, uuid, time)

  def opens(uuid: String, shown: String, now: Timestamp): Boolean = signing.exists: secret =>
    val (time, signature) = shown.splitAt(TimeDigits)
    val same = MessageDigest.isEqual(sign(secret, uuid, time).getBytes(UTF_8), signature.getBytes(UTF_8))
    same && Try(HexFormat.fromHexDigitsToLong(time)).toOption.exists(_ > now.millis)

  private def sign(secret: Array[Byte], uuid: String, time: String): String =
    val mac = Mac.getInstance(Algorithm)
    mac.init(SecretKeySpec(secret, Algorithm))
    HexFormat.of.formatHex(mac.doFinal(s"$uuid $time".getBytes(UTF_8)))

private object ActivationKeys:
  val Algorithm = "HmacSHA256"
  val TimeDigits = 16
