package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.{ActorAttributes, Attributes}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.sync.RequestBody

/** Blobs as objects below `flares/`, in a folder of their flare. They are read in ranges, so that a slow
  * reader keeps no connection to the bucket.
  */
final class S3FlareBlobStore(store: S3Bucket) extends FlareBlobStore:
  import S3FlareBlobStore.Piece
  import store.settings.bucket
  import store.{attempt, client, present}

  private val prefix = s"${store.settings.prefix}flares/"

  def put(id: FlareId, name: BlobName, file: Path): Unit =
    if Files.exists(file) then
      attempt("storing a blob"):
        client.putObject(request => request.bucket(bucket).key(key(id, name)), RequestBody.fromFile(file))
      Files.delete(file)
    else if size(id, name).isEmpty then throw NoSuchFileException(file.toString)

  def read(id: FlareId, name: BlobName): Source[ByteString, NotUsed] =
    Source
      .lazySingle(() => size(id, name).getOrElse(throw NoSuchFileException(key(id, name))))
      .mapConcat(size => Range.Long(0L, size, Piece).map(from => (from, (from + Piece).min(size))))
      .map: (from, until) =>
        attempt("reading a blob"):
          val range = s"bytes=$from-${until - 1}"
          val bytes = client.getObjectAsBytes(_.bucket(bucket).key(key(id, name)).range(range))
          ByteString.fromArrayUnsafe(bytes.asByteArrayUnsafe)
      .withAttributes(Attributes(ActorAttributes.IODispatcher))
      .async
      .mapMaterializedValue(_ => NotUsed)

  def load(id: FlareId, name: BlobName): ByteString =
    attempt("reading a blob"):
      present(client.getObjectAsBytes(_.bucket(bucket).key(key(id, name))))
    .fold(throw NoSuchFileException(key(id, name)))(bytes =>
      ByteString.fromArrayUnsafe(bytes.asByteArrayUnsafe)
    )

  def delete(id: FlareId, keep: Set[BlobName]): Unit =
    val kept = keep.map(key(id, _))
    attempt("deleting blobs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(s"$prefix${id.value}/"))
        .contents
        .asScala
        .map(_.key)
        .filterNot(kept)
        .foreach(going => client.deleteObject(_.bucket(bucket).key(going)))

  def delete(id: FlareId, name: BlobName): Unit =
    attempt("deleting a blob"):
      val _ = client.deleteObject(_.bucket(bucket).key(key(id, name)))

  def flares(): Vector[FlareId] =
    attempt("listing blobs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(prefix).delimiter("/"))
        .commonPrefixes
        .asScala
        .flatMap(folder => FlareId.parse(folder.prefix.stripPrefix(prefix).stripSuffix("/")))
        .toVector

  private def size(id: FlareId, name: BlobName): Option[Long] =
    attempt("looking for a blob"):
      present(client.headObject(_.bucket(bucket).key(key(id, name))).contentLength)

  private def key(id: FlareId, name: BlobName): String = s"$prefix${id.value}/${name.text}"

object S3FlareBlobStore:
  private val Piece = 1024L * 1024
