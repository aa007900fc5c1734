package burst.controller.blob

import java.util.{Base64, HexFormat}
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.sync.RequestBody

/** Packages as objects named by their hash and a tag. The server checks what it receives against that hash,
  * and stores an object whole or not at all; a fetched package is checked again.
  */
final class S3PackageStore(store: S3Bucket) extends PackageStore:
  import store.settings.{bucket, prefix}
  import store.{attempt, client, present}

  def put(copy: PackageCopy, bytes: Array[Byte]): Unit =
    val checksum = Base64.getEncoder.encodeToString(HexFormat.of().parseHex(copy.id.value))
    val _ = attempt("storing a package"):
      client.putObject(
        request => request.bucket(bucket).key(key(copy)).checksumSHA256(checksum),
        RequestBody.fromBytes(bytes)
      )

  def size(copy: PackageCopy): Option[Long] =
    attempt("looking for a package"):
      present(client.headObject(_.bucket(bucket).key(key(copy))).contentLength)

  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]] =
    size(copy).flatMap: size =>
      val from = offset.max(0).min(size)
      val until = from + (size - from).min(length.max(0))
      if from == until then Some(Array.emptyByteArray)
      else
        attempt("reading a package"):
          val range = s"bytes=$from-${until - 1}"
          present(client.getObjectAsBytes(_.bucket(bucket).key(key(copy)).range(range)).asByteArray)

  def delete(copy: PackageCopy): Unit =
    val _ = attempt("deleting a package")(client.deleteObject(_.bucket(bucket).key(key(copy))))

  def copies(): Vector[PackageCopy] =
    attempt("listing packages"):
      val pages = client.listObjectsV2Paginator(_.bucket(bucket).prefix(prefix))
      pages.contents.asScala.flatMap(found => PackageCopy.parse(found.key.stripPrefix(prefix))).toVector

  private def key(copy: PackageCopy): String = s"$prefix${copy.name}"
