package burst.controller.http

import burst.node.SetupException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.util.HexFormat

/** The administrator's key. Only its hash is kept. */
final class AdminKey private (hash: Array[Byte]):
  /** Whether this is the administrator's key; takes the same time either way. */
  def opens(key: String): Boolean = MessageDigest.isEqual(AdminKey.hash(key), hash)

object AdminKey:
  /** Path of the setting. */
  val Setting = "burst.http.admin-key"

  /** The user name in its Basic credentials. */
  val User = "admin"

  /** The hexadecimal length of 128 random bits: too long to guess, at any rate of attempts. */
  private val Shortest = 32

  /** Reads the key from the setting; an empty setting means no key. Throws `SetupException`. */
  def from(configured: String): Option[AdminKey] =
    if configured.isEmpty then None
    else if configured.length < Shortest then
      throw SetupException(
        s"$Setting must have at least $Shortest random characters, such as `openssl rand -hex 32` prints."
      )
    else Some(AdminKey(hash(configured)))

  /** Returns a fresh key to be configured. */
  def random(): String =
    val bytes = new Array[Byte](32)
    SecureRandom().nextBytes(bytes)
    HexFormat.of().formatHex(bytes)

  private def hash(key: String): Array[Byte] =
    MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8))
