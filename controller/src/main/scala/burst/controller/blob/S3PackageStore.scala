package burst.controller.blob

import burst.protocol.PackageId
import java.util.{Base64, HexFormat}
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.sync.RequestBody

/** Packages as objects named by their hash. The server checks what it is sent against that hash, and keeps an
  * object whole or not at all; who fetches a package checks it again.
  */
final class S3PackageStore(store: S3Bucket) extends PackageStore:
  import store.settings.{bucket, prefix}
  import store.{attempt, client, present}

  def put(bytes: Array[Byte]): PackageId =
    val id = PackageId.of(bytes)
    if !size(id).contains(bytes.length.toLong) then
      val checksum = Base64.getEncoder.encodeToString(HexFormat.of().parseHex(id.value))
      attempt("storing a package"):
        client.putObject(
          request => request.bucket(bucket).key(key(id)).checksumSHA256(checksum),
          RequestBody.fromBytes(bytes)
        )
    id

  def size(id: PackageId): Option[Long] =
    attempt("looking for a package"):
      present(client.headObject(_.bucket(bucket).key(key(id))).contentLength)

  def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]] =
    size(id).flatMap: size =>
      val from = offset.max(0).min(size)
      val until = from + (size - from).min(length.max(0))
      if from == until then Some(Array.emptyByteArray)
      else
        attempt("reading a package"):
          val range = s"bytes=$from-${until - 1}"
          present(client.getObjectAsBytes(_.bucket(bucket).key(key(id)).range(range)).asByteArray)

  def delete(id: PackageId): Unit =
    val _ = attempt("deleting a package")(client.deleteObject(_.bucket(bucket).key(key(id))))

  def ids(): Vector[PackageId] =
    attempt("listing packages"):
      val pages = client.listObjectsV2Paginator(_.bucket(bucket).prefix(prefix))
      pages.contents.asScala.flatMap(found => PackageId.parse(found.key.stripPrefix(prefix))).toVector

  private def key(id: PackageId): String = s"$prefix${id.value}"
