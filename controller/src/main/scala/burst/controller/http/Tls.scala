package burst.controller.http

import burst.node.SetupException
import com.typesafe.config.Config
import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.security.cert.{Certificate, CertificateFactory}
import java.security.spec.PKCS8EncodedKeySpec
import java.security.{KeyFactory, KeyStore, PrivateKey, SecureRandom}
import javax.net.ssl.{KeyManagerFactory, SSLContext}
import org.apache.pekko.pki.pem.{DERPrivateKeyLoader, PEMDecoder}
import scala.jdk.CollectionConverters.*
import scala.util.Try
import scala.util.control.NonFatal

/** `burst.http.tls`: the API's certificate and key. */
object Tls:
  private val Alias = "api"
  private val Protocol = "TLS"

  /** Reads a certificate chain and its key in PEM, or both from one PKCS #12 file; returns none if neither is
    * configured. Throws `SetupException`.
    */
  def from(tls: Config): Option[SSLContext] =
    val (certificate, key, store) = (file(tls, "certificate"), file(tls, "key"), file(tls, "keystore"))
    (certificate, key, store) match
      case (None, None, None) => None
      case (Some(chain), Some(key), None) => Some(context(pem(chain, key), noPassword))
      case (None, None, Some(file)) =>
        val password = tls.getString("keystore-password").toCharArray
        Some(context(pkcs12(file, password), password))
      case _ =>
        throw SetupException("burst.http.tls: give either certificate and key, or a keystore.")

  private def noPassword = Array.emptyCharArray

  private def pem(chain: Path, key: Path): KeyStore =
    val certificates: Array[Certificate] = read(chain, "certificate"): bytes =>
      val read = CertificateFactory.getInstance("X.509").generateCertificates(ByteArrayInputStream(bytes))
      if read.isEmpty then throw IllegalArgumentException("it holds no certificate")
      read.asScala.toArray[Certificate]
    val own: PrivateKey = read(key, "key"): bytes =>
      privateKey(PEMDecoder.decode(String(bytes, US_ASCII)))
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, noPassword)
    read(chain, "certificate")(_ => store.setKeyEntry(Alias, own, noPassword, certificates))
    store

  /** Reads a private key. PKCS #8, the usual form, names its algorithm in a way that only a factory for it
    * understands; older forms are RSA's.
    */
  private def privateKey(der: PEMDecoder.DERData): PrivateKey =
    if der.label != "PRIVATE KEY" then DERPrivateKeyLoader.load(der)
    else
      val spec = PKCS8EncodedKeySpec(der.bytes)
      Seq("RSA", "EC", "EdDSA").iterator
        .flatMap(algorithm => Try(KeyFactory.getInstance(algorithm).generatePrivate(spec)).toOption)
        .nextOption
        .getOrElse(throw IllegalArgumentException("it is neither RSA's nor of an elliptic curve"))

  private def pkcs12(file: Path, password: Array[Char]): KeyStore =
    read(file, "keystore"): bytes =>
      val store = KeyStore.getInstance("PKCS12")
      store.load(ByteArrayInputStream(bytes), password)
      store

  private def context(store: KeyStore, password: Array[Char]): SSLContext =
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, password)
    val context = SSLContext.getInstance(Protocol)
    context.init(keys.getKeyManagers, null, SecureRandom())
    context

  private def file(tls: Config, key: String): Option[Path] =
    Some(tls.getString(key)).filter(_.nonEmpty).map(Path.of(_))

  /** Reads a file; errors name its setting and path, never its content. */
  private def read[A](file: Path, setting: String)(use: Array[Byte] => A): A =
    try use(Files.readAllBytes(file))
    catch
      case NonFatal(cause) =>
        throw SetupException(
          s"burst.http.tls.$setting: $file cannot be used: ${cause.getClass.getSimpleName}.",
          cause
        )
