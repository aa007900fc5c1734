package burst.controller.secrets

import burst.controller.definition.SealedSecret
import burst.node.{PrivateFile, SetupException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.security.{GeneralSecurityException, MessageDigest, SecureRandom}
import java.util.{Base64, HexFormat}
import javax.crypto.{Cipher, Mac}
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}
import scala.util.Try

/** The key that seals the secrets of definitions: AES-256-GCM, with a random nonce for each. A value sealed
  * for one name of one definition cannot be opened as another's.
  */
final class SecretsKey private (bytes: Array[Byte]):
  import SecretsKey.*

  /** Identifies the key without revealing anything about it. */
  val id: String = HexFormat.of.formatHex(
    MessageDigest.getInstance("SHA-256").digest("burst secrets key".getBytes(UTF_8) ++ bytes).take(8)
  )

  private val key = SecretKeySpec(bytes, "AES")

  /** Derives a key for another purpose, which reveals nothing about this one. */
  private[secrets] def derived(purpose: String): Array[Byte] =
    val mac = Mac.getInstance(Derivation)
    mac.init(SecretKeySpec(bytes, Derivation))
    mac.doFinal(purpose.getBytes(UTF_8))

  def seal(definition: DefinitionName, name: String, value: String): SealedSecret =
    val nonce = new Array[Byte](NonceBytes)
    Random.nextBytes(nonce)
    val sealedBytes =
      nonce ++ cipher(Cipher.ENCRYPT_MODE, nonce, definition, name).doFinal(value.getBytes(UTF_8))
    SealedSecret(name, id, Base64.getEncoder.encodeToString(sealedBytes))

  /** Opens a secret; returns none if it was sealed by another key or for another name, or has been changed.
    */
  def open(definition: DefinitionName, secret: SealedSecret): Option[String] =
    try
      val (nonce, rest) = Base64.getDecoder.decode(secret.text).splitAt(NonceBytes)
      // The cipher throws a different exception for input shorter than a tag.
      Option.when(rest.length >= TagBytes):
        String(cipher(Cipher.DECRYPT_MODE, nonce, definition, secret.name).doFinal(rest), UTF_8)
    catch case _: GeneralSecurityException | _: IllegalArgumentException => None

  private def cipher(mode: Int, nonce: Array[Byte], definition: DefinitionName, name: String): Cipher =
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(mode, key, GCMParameterSpec(TagBytes * 8, nonce))
    // None of the three can hold a NUL.
    cipher.updateAAD(s"${definition.namespace}\u0000${definition.name}\u0000$name".getBytes(UTF_8))
    cipher

  override def toString: String = s"SecretsKey($id)"

/** The definition that a secret belongs to. */
final case class DefinitionName(namespace: String, name: String)

object SecretsKey:
  private val KeyBytes = 32
  private val NonceBytes = 12
  private val TagBytes = 16
  private val Derivation = "HmacSHA256"
  private val Random = SecureRandom()

  /** The size of the sealed value, in bytes. */
  def size(secret: SealedSecret): Int =
    Base64.getDecoder.decode(secret.text).length - NonceBytes - TagBytes

  def random(): SecretsKey = SecretsKey(randomBytes())

  private def randomBytes(): Array[Byte] =
    val bytes = new Array[Byte](KeyBytes)
    Random.nextBytes(bytes)
    bytes

  private val What = "the key of the secrets"

  /** Reads the key from a file, if the file exists. Throws `SetupException`. */
  def read(file: Path): Option[SecretsKey] = PrivateFile.read(file, What).map: text =>
    Try(Base64.getDecoder.decode(text.trim)).toOption
      .filter(_.length == KeyBytes)
      .map(SecretsKey(_))
      .getOrElse(throw SetupException(s"$file is no key of secrets, which is $KeyBytes bytes in base64."))

  /** Creates a file with a fresh key; returns none if the file exists. Throws `SetupException`. */
  def create(file: Path): Option[SecretsKey] =
    val bytes = randomBytes()
    val text = Base64.getEncoder.encodeToString(bytes) + "\n"
    Option.when(PrivateFile.create(file, text, What))(SecretsKey(bytes))
