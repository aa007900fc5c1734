package burst.node

import java.io.{StringReader, StringWriter}
import java.math.BigInteger
import java.nio.file.{Files, Path}
import java.security.cert.X509Certificate
import java.security.spec.ECGenParameterSpec
import java.security.{KeyPairGenerator, PrivateKey}
import java.time.Instant
import java.util.Date
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo
import org.bouncycastle.asn1.x500.X500Name
import org.bouncycastle.cert.X509CertificateHolder
import org.bouncycastle.cert.jcajce.{JcaX509CertificateConverter, JcaX509v3CertificateBuilder}
import org.bouncycastle.openssl.jcajce.{JcaPEMKeyConverter, JcaPEMWriter, JcaPKCS8Generator}
import org.bouncycastle.openssl.{PEMKeyPair, PEMParser}
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder
import org.slf4j.LoggerFactory
import scala.util.control.NonFatal

/** The key that all nodes of a cluster share: one PEM file with a private key and its self-signed
  * certificate. Each node presents this certificate and trusts no other, so whoever has the file belongs to
  * the cluster, and nobody else gets a message in.
  *
  * @param isDefault
  *   nobody has named the file: if it is missing, the first controller creates it
  */
final case class ClusterKey(file: Path, isDefault: Boolean) extends NodeProof:
  private[node] def transport: Map[String, Any] = Map(
    "pekko.remote.artery.transport" -> "tls-tcp",
    "pekko.remote.artery.ssl.ssl-engine-provider" -> classOf[ClusterKeyEngine].getName,
    ClusterKeyEngine.File -> file.toString
  )

  private[node] def prepare(makes: Boolean): Unit =
    if isDefault && makes && !Files.exists(file) then
      ClusterKey.create(file)
      // There is no logger before: the settings that define where logs go also define the key.
      LoggerFactory.getLogger(classOf[ClusterKey]).info(
        "made the key of a cluster, {}: its other nodes need a copy",
        file
      )
    val _ = ClusterKey.read(file)

  def hint: String = s"is $file the same as the controllers' ${ClusterKey.FileName} (--cluster-key)"

object ClusterKey:
  private[node] val FileName = "cluster.pem"
  private val Description = "the cluster's key"

  /** The X.509 notation for a certificate that does not expire (RFC 5280, 4.1.2.5). */
  private val Never = Date.from(Instant.parse("9999-12-31T23:59:59Z"))

  /** The key with its certificate. Throws `SetupException`. */
  def read(file: Path): (PrivateKey, X509Certificate) =
    val text = PrivateFile.read(file, Description, ", as who has it is a node").getOrElse:
      throw SetupException(
        s"nodes prove to each other by the cluster's key that they are of it, and $file is not there: copy " +
          s"$FileName from the data directory of the first controller, and name the copy with --cluster-key FILE."
      )
    try
      val parser = PEMParser(StringReader(text))
      val objects = Iterator.continually(parser.readObject()).takeWhile(_ != null).toVector
      val key = objects.collectFirst:
        case key: PrivateKeyInfo => key
        case pair: PEMKeyPair => pair.getPrivateKeyInfo
      val certificate = objects.collectFirst { case certificate: X509CertificateHolder => certificate }
      (
        JcaPEMKeyConverter().getPrivateKey(key.get),
        JcaX509CertificateConverter().getCertificate(certificate.get)
      )
    catch
      case NonFatal(_) =>
        throw SetupException(
          s"$file is not a cluster's key, which is a private key and its certificate in PEM: copy $FileName " +
            "from the data directory of the first controller."
        )

  private[node] def create(file: Path): Unit =
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(ECGenParameterSpec("secp256r1"))
    val pair = generator.generateKeyPair()
    val name = X500Name("CN=burst cluster")
    val signer = JcaContentSignerBuilder("SHA256withECDSA").build(pair.getPrivate)
    val certificate =
      JcaX509v3CertificateBuilder(name, BigInteger.ONE, Date(0), Never, name, pair.getPublic).build(signer)
    val text = StringWriter()
    val writer = JcaPEMWriter(text)
    writer.writeObject(JcaPKCS8Generator(pair.getPrivate, null))
    writer.writeObject(certificate)
    writer.close()
    // If the file exists by then, that one is used.
    PrivateFile.create(file, text.toString, Description): Unit
