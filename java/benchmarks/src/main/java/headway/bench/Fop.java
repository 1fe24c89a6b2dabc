package headway.bench;

import java.io.File;
import java.io.OutputStream;
import java.io.StringReader;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;

/** FOP sets documents and writes PDF. An item is a document of several pages with a table. */
final class Fop implements Program {
  private final FopFactory factory = FopFactory.newInstance(new File(".").toURI());

  @Override
  public void run(int threads, int items) throws Exception {
    Workers.run(
        threads,
        items,
        (worker, item) -> {
          org.apache.fop.apps.Fop fop = factory.newFop(MimeConstants.MIME_PDF, OutputStream.nullOutputStream());
          TransformerFactory.newDefaultInstance()
              .newTransformer()
              .transform(new StreamSource(new StringReader(document(item))), new SAXResult(fop.getDefaultHandler()));
        });
  }

  private static String document(int item) {
    Text text = new Text(item);
    StringBuilder flow = new StringBuilder();
    for (int i = 0; i < 20; i++) {
      flow.append("<fo:block space-after='4pt' text-align='justify'>").append(text.words(90)).append("</fo:block>");
    }
    flow.append("<fo:table table-layout='fixed' width='100%'><fo:table-body>");
    for (int row = 0; row < 40; row++) {
      flow.append("<fo:table-row>");
      for (int column = 0; column < 4; column++) {
        flow.append("<fo:table-cell><fo:block>").append(text.word()).append("</fo:block></fo:table-cell>");
      }
      flow.append("</fo:table-row>");
    }
    flow.append("</fo:table-body></fo:table>");
    return "<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format'><fo:layout-master-set>"
        + "<fo:simple-page-master master-name='a4' page-height='297mm' page-width='210mm' margin='20mm'>"
        + "<fo:region-body/></fo:simple-page-master></fo:layout-master-set>"
        + "<fo:page-sequence master-reference='a4'><fo:flow flow-name='xsl-region-body'>"
        + flow
        + "</fo:flow></fo:page-sequence></fo:root>";
  }
}
