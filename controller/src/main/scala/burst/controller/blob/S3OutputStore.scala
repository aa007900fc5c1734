package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.{ActorAttributes, Attributes}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.sync.RequestBody

/** Outputs as objects below `outputs/`, in a folder of their flare. They are read in ranges, so that a slow
  * reader keeps no connection to the bucket.
  */
final class S3OutputStore(store: S3Bucket) extends OutputStore:
  import S3OutputStore.Piece
  import store.settings.bucket
  import store.{attempt, client, present}

  private val prefix = s"${store.settings.prefix}outputs/"

  def put(id: FlareId, worker: Int, file: Path): Unit =
    if Files.exists(file) then
      attempt("storing an output"):
        client.putObject(request => request.bucket(bucket).key(key(id, worker)), RequestBody.fromFile(file))
      Files.delete(file)
    else if size(id, worker).isEmpty then throw NoSuchFileException(file.toString)

  def read(id: FlareId, worker: Int): Source[ByteString, NotUsed] =
    Source
      .lazySingle(() => size(id, worker).getOrElse(throw NoSuchFileException(key(id, worker))))
      .mapConcat(size => Range.Long(0L, size, Piece).map(from => (from, (from + Piece).min(size))))
      .map: (from, until) =>
        attempt("reading an output"):
          val range = s"bytes=$from-${until - 1}"
          val bytes = client.getObjectAsBytes(_.bucket(bucket).key(key(id, worker)).range(range))
          ByteString.fromArrayUnsafe(bytes.asByteArrayUnsafe)
      .withAttributes(Attributes(ActorAttributes.IODispatcher))
      .async
      .mapMaterializedValue(_ => NotUsed)

  def delete(id: FlareId): Unit =
    attempt("deleting outputs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(s"$prefix${id.value}/"))
        .contents
        .asScala
        .foreach(found => client.deleteObject(_.bucket(bucket).key(found.key)))

  def flares(): Vector[FlareId] =
    attempt("listing outputs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(prefix).delimiter("/"))
        .commonPrefixes
        .asScala
        .flatMap(folder => FlareId.parse(folder.prefix.stripPrefix(prefix).stripSuffix("/")))
        .toVector

  private def size(id: FlareId, worker: Int): Option[Long] =
    attempt("looking for an output"):
      present(client.headObject(_.bucket(bucket).key(key(id, worker))).contentLength)

  private def key(id: FlareId, worker: Int): String = s"$prefix${id.value}/$worker"

object S3OutputStore:
  private val Piece = 1024L * 1024
